import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { errorInside } from '../../dialects/forwarded/read-whole.ts';
import type { ImageFormat } from './format.ts';
import { fieldsFor, ratioFor } from './losses.ts';
import { drawn, malformed, refusedContent } from './read-answer.ts';

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
    const { base64, finishReason: reason } = body;
    return drawn(base64, reason === 'CONTENT_FILTERED' ? refusedContent(reason) : null);
  },
};
