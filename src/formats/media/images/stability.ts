import { isObject } from '../../../kernel/json.ts';
import { errorInside } from '../../dialects/forwarded/read-whole.ts';
import type { ImageFormat } from './format.ts';
import { ratioBody } from './losses.ts';
import { drawn, malformed, refusedContent } from './read-answer.ts';

/** https://platform.stability.ai/docs/api-reference (v2beta, Generate): a form, one picture a call, in base64. */
export const stabilityImages: ImageFormat = {
  id: 'stability',
  encode(order) {
    const { body, losses } = ratioBody(order);
    // One path is for several models, which a field tells apart.
    if (order.model.startsWith('sd3')) body.model = order.model;
    return { body, losses };
  },
  decode(body) {
    if (!isObject(body)) return malformed('the answer is no object');
    if (body.finish_reason === 'CONTENT_FILTERED') return refusedContent('CONTENT_FILTERED');
    return drawn(body.image, errorInside(body));
  },
};
