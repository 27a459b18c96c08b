import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { errorInside } from '../../dialects/forwarded/read-whole.ts';
import { fault } from '../../neutral/outcome.ts';
import type { DecodedImage, ImageFormat } from './format.ts';
import { fieldsFor, ratioFor } from './losses.ts';
import { malformed, pictureIn } from './read-answer.ts';

/**
 * https://replicate.com/docs/reference/http#models.predictions.create: `prefer: wait` holds the answer until the picture
 * is there, for up to a minute. What is not ready by then is left to the next target.
 */
export const replicateImages: ImageFormat = {
  id: 'replicate',
  encode(order) {
    const { request, facts } = order;
    const ratio = ratioFor(facts.sizes, request.size);
    const { fields, losses } = fieldsFor(order);
    const input: JsonObject = { ...request.extra, prompt: request.prompt, ...fields };
    if (ratio.ratio !== null) input.aspect_ratio = ratio.ratio;
    return { body: { input }, losses: [...losses, ...ratio.losses] };
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
    const images = (Array.isArray(output) ? output : [output]).flatMap((one): DecodedImage[] => {
      const image = pictureIn(one, undefined);
      return image === null ? [] : [image];
    });
    if (images.length > 0) return { images, usage: null, reported: {} };
    return errorInside(body) ?? malformed('the answer holds no picture');
  },
};
