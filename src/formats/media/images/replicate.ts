import { isObject } from '../../../kernel/json.ts';
import { errorInside } from '../../dialects/forwarded/read-whole.ts';
import { fault } from '../../neutral/outcome.ts';
import type { ImageFormat } from './format.ts';
import { ratioBody } from './losses.ts';
import { drawn, malformed } from './read-answer.ts';

/**
 * https://replicate.com/docs/reference/http#models.predictions.create: `prefer: wait` holds the answer until the picture
 * is there, for up to a minute. What is not ready by then is left to the next target.
 */
export const replicateImages: ImageFormat = {
  id: 'replicate',
  encode(order) {
    const { body: input, losses } = ratioBody(order);
    return { body: { input }, losses };
  },
  decode(body) {
    if (!isObject(body)) return malformed('the answer is no object');
    const { status, output, error } = body;
    if (status === 'starting' || status === 'processing') {
      return fault('transient', 'the picture was not ready within a minute');
    }
    if (status === 'failed' || status === 'canceled') {
      const message = typeof error === 'string' ? error.slice(0, 500) : '';
      return /nsfw|sensitive|safety/i.test(message)
        ? fault('filtered', `refused the request for its content (${message})`)
        : fault('transient', `the prediction ${status}: ${message}`);
    }
    return drawn(output, errorInside(body));
  },
};
