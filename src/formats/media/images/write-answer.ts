import type { JsonObject } from '../../../kernel/json.ts';
import type { ImageTokens } from './format.ts';

/** A picture as the caller gets it: its address, or its base64 as bytes of ASCII. */
export type FinishedImage = ({ url: string } | { base64: Uint8Array }) & { revisedPrompt: string | null };

export interface ImageAnswer {
  createdS: number;
  images: readonly FinishedImage[];
  /** Usage of all calls; null if one of them gave none. */
  usage: ImageTokens | null;
  /** The upstream's facts of its image. */
  reported: JsonObject;
}

/** OpenAI's `ImagesResponse`. Base64 is joined as bytes: as text, many megabytes of it would be escaped and copied. */
export function writeImages({ createdS, images, usage, reported }: ImageAnswer): Buffer {
  const pieces: Uint8Array[] = [Buffer.from(`{"created":${createdS},"data":[`)];
  for (const [i, image] of images.entries()) {
    if (i > 0) pieces.push(Buffer.from(','));
    const revised = image.revisedPrompt === null ? '' : `,"revised_prompt":${JSON.stringify(image.revisedPrompt)}`;
    if ('url' in image) pieces.push(Buffer.from(`{"url":${JSON.stringify(image.url)}${revised}}`));
    else pieces.push(Buffer.from('{"b64_json":"'), image.base64, Buffer.from(`"${revised}}`));
  }
  const rest = JSON.stringify({ ...reported, ...(usage !== null && { usage: usageOf(usage) }) }).slice(1);
  pieces.push(Buffer.from(rest === '}' ? ']}' : `],${rest}`));
  return Buffer.concat(pieces);
}

/** In OpenAI's form. */
export function usageOf({ inputTokens, outputTokens, textTokens, imageTokens, made }: ImageTokens) {
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    input_tokens_details: {
      text_tokens: textTokens ?? inputTokens - (imageTokens ?? 0),
      image_tokens: imageTokens ?? 0,
    },
    ...(made !== undefined && {
      output_tokens_details: { text_tokens: made.textTokens, image_tokens: made.imageTokens },
    }),
  };
}
