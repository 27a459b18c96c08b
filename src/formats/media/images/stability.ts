import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { errorInside } from '../../dialects/forwarded/read-whole.ts';
import type { ImageFormat } from './format.ts';
import { fieldsFor, ratioFor } from './losses.ts';
import { malformed, pictureIn, refusedContent } from './read-answer.ts';

/**
 * https://platform.stability.ai/docs/api-reference (v2beta, Generate): a form, one picture a call, answered in base64.
 */
export const stabilityImages: ImageFormat = {
  id: 'stability',
  encode(order) {
    const { model, request, facts } = order;
    const ratio = ratioFor(facts.sizes, request.size);
    const { fields, losses } = fieldsFor(order);
    const body: JsonObject = { ...request.extra, prompt: request.prompt, ...fields };
    if (ratio.ratio !== null) body.aspect_ratio = ratio.ratio;
    // One path is for several models, which a field tells apart.
    if (model.startsWith('sd3')) body.model = model;
    return { body, losses: [...losses, ...ratio.losses] };
  },
  decode(body) {
    if (!isObject(body)) return malformed('the answer is no object');
    if (body.finish_reason === 'CONTENT_FILTERED') return refusedContent('CONTENT_FILTERED');
    const image = pictureIn(body.image, undefined);
    if (image !== null) return { images: [image], usage: null, reported: {} };
    return errorInside(body) ?? malformed('the answer holds no picture');
  },
};
