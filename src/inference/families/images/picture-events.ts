import type { DrawnType } from '../../../formats/media/images/picture-type.ts';
import { type ImageAnswer, usageOf } from '../../../formats/media/images/write-answer.ts';
import type { ImageRequest } from '../../../formats/neutral/image.ts';
import { sizeText } from '../../../formats/neutral/image-size.ts';

/** Facts of streamed images, without their bytes. */
export interface PictureEvents extends Pick<ImageAnswer, 'createdS' | 'usage' | 'reported'> {
  task: 'image_generation' | 'image_edit';
  request: ImageRequest;
  pictures: readonly { base64: Uint8Array; type: DrawnType }[];
  /** Tokens of the prompt as we count them, where the upstream tells none. */
  inputTokensEstimate: number;
}

/**
 * `image_generation.completed` or `image_edit.completed`, one a picture; the last one tells what all of them used, as
 * no upstream tells it of each. Joined as bytes: see `writeImages`.
 */
export function writePictureEvents(events: PictureEvents): Buffer {
  const { task, request, reported, createdS, pictures } = events;
  const pieces: Uint8Array[] = [];
  for (const [at, { base64, type }] of pictures.entries()) {
    const facts = {
      created_at: createdS,
      size: reported.size ?? (request.size === null ? 'auto' : sizeText(request.size)),
      quality: reported.quality ?? request.quality ?? 'auto',
      background: reported.background ?? request.background ?? 'auto',
      output_format: type.slice('image/'.length),
      usage: at === pictures.length - 1 ? usageOfAll(events) : usageOf(nothing),
    };
    pieces.push(
      Buffer.from(`event: ${task}.completed\ndata: {"type":"${task}.completed","b64_json":"`),
      base64,
      Buffer.from(`",${JSON.stringify(facts).slice(1)}\n\n`),
    );
  }
  return Buffer.concat(pieces);
}

const nothing = { inputTokens: 0, outputTokens: 0, textTokens: 0, imageTokens: 0 };

/** OpenAI's clients demand the numbers. */
function usageOfAll({ usage, inputTokensEstimate }: PictureEvents) {
  if (usage !== null) return usageOf(usage);
  return {
    ...usageOf({ ...nothing, inputTokens: inputTokensEstimate, textTokens: inputTokensEstimate }),
    estimated: true,
  };
}
