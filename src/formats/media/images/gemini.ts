import { isObject, type JsonObject, objectIn, objectsIn } from '../../../kernel/json.ts';
import { usageOf } from '../../dialects/gemini/decode-answer.ts';
import { readError } from '../../dialects/gemini/errors.ts';
import { classOfError } from '../../dialects/openai-chat/errors.ts';
import type { Fault } from '../../neutral/outcome.ts';
import type { Usage } from '../../neutral/usage.ts';
import type { DecodedImage, ImageFormat, ImageOrder, ImageTokens } from './format.ts';
import { fieldsFor, ratioFor, unknownIn } from './losses.ts';
import { malformed, noPicture, pictureIn, refusedContent } from './read-answer.ts';

/** https://ai.google.dev/gemini-api/docs/image-generation: models that chat, and draw one picture an answer. */
export const geminiImages: ImageFormat = {
  id: 'gemini',
  encode(order: ImageOrder) {
    const { request, facts, source } = order;
    const chosen = ratioFor(facts.sizes, request.size);
    const pictures = source?.pictures ?? [];
    const generationConfig: JsonObject = { responseModalities: ['IMAGE'] };
    if (chosen.ratio !== null) generationConfig.imageConfig = { aspectRatio: chosen.ratio };
    const parts = [
      ...pictures.map(({ mediaType, base64 }) => ({ inlineData: { mimeType: mediaType, data: base64 } })),
      { text: request.prompt },
    ];
    return {
      body: { contents: [{ role: 'user', parts }], generationConfig },
      losses: [...fieldsFor(order).losses, ...chosen.losses, ...unknownIn(order)],
    };
  },
  decode(body) {
    const error = googleError(body);
    if (error !== null) return error;
    if (!isObject(body)) return malformed('the answer is not an object');
    const candidates = objectsIn(body.candidates);
    const images = candidates.flatMap(picturesOf);
    if (images.length === 0) return whyNone(body, candidates);
    const usage = usageOf(body.usageMetadata);
    return { images, usage: usage && tokensOf(usage), reported: {} };
  },
};

/** Tokens of the picture apart from thoughts and words, which cost less. */
function tokensOf({
  inputTokens,
  outputTokens,
  imageInputTokens,
  imageOutputTokens,
  reasoningTokens,
}: Usage): ImageTokens {
  const counted = { inputTokens, outputTokens, textTokens: null, imageTokens: imageInputTokens ?? null };
  if (imageOutputTokens === undefined && reasoningTokens === undefined) return counted;
  const drawn = Math.min(imageOutputTokens ?? Number.POSITIVE_INFINITY, outputTokens - (reasoningTokens ?? 0));
  return { ...counted, made: { textTokens: outputTokens - drawn, imageTokens: drawn } };
}

/** Google's error inside a 200; null when there is none. */
export function googleError(body: unknown): Fault | null {
  const error = readError(body);
  return error === null ? null : { class: classOfError(null, error), status: null, message: error.message };
}

function picturesOf({ content }: JsonObject): DecodedImage[] {
  return objectsIn(objectIn(content).parts).flatMap((part) => {
    // Drafts are thoughts, not the answer.
    if (part.thought === true) return [];
    return pictureIn(objectIn(part.inlineData ?? part.inline_data).data, undefined) ?? [];
  });
}

const refusals = /SAFETY|PROHIBITED|RECITATION|BLOCKLIST|SPII/;

function whyNone(body: JsonObject, candidates: readonly JsonObject[]): Fault {
  const { promptFeedback } = body;
  const blocked = isObject(promptFeedback) ? promptFeedback.blockReason : undefined;
  if (typeof blocked === 'string') return refusedContent(blocked);
  const reason = candidates.map(({ finishReason }) => finishReason).find((word) => typeof word === 'string');
  if (reason !== undefined && refusals.test(reason)) return refusedContent(reason);
  return reason === undefined ? noPicture : malformed(`drew no picture (${reason.slice(0, 64)})`);
}
