import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { errorInside } from '../../dialects/forwarded/read-whole.ts';
import type { DecodedImage, ImageFormat } from './format.ts';
import { fieldsFor, ratioFor } from './losses.ts';
import { malformed, pictureIn, refusedContent } from './read-answer.ts';

/** https://docs.fireworks.ai/api-reference/generate-a-new-image-from-a-text-prompt, one picture a call. */
export const fireworksImages: ImageFormat = {
  id: 'fireworks',
  encode(order) {
    const { request, facts } = order;
    const ratio = ratioFor(facts.sizes, request.size);
    const body: JsonObject = { ...request.extra, prompt: request.prompt };
    if (ratio.ratio !== null) body.aspect_ratio = ratio.ratio;
    return { body, losses: [...fieldsFor(order).losses, ...ratio.losses] };
  },
  decode(body) {
    const error = errorInside(body);
    if (error !== null) return error;
    if (!isObject(body)) return malformed('the answer is not an object');
    const list = Array.isArray(body.base64) ? body.base64 : [body.base64];
    const images = list.flatMap((one): DecodedImage[] => {
      const image = pictureIn(one, undefined);
      return image === null ? [] : [image];
    });
    if (images.length > 0) return { images, usage: null, reported: {} };
    return body.finishReason === 'CONTENT_FILTERED'
      ? refusedContent('CONTENT_FILTERED')
      : malformed('the answer holds no picture');
  },
};
