import { isObject, type JsonObject, objectsIn } from '../../../kernel/json.ts';
import { errorInside } from '../../dialects/forwarded/read-whole.ts';
import type { ImageFormat } from './format.ts';
import { fieldsFor } from './losses.ts';
import { drawn, malformed } from './read-answer.ts';

/** https://fal.ai/docs/inference-api/sync/run-path, with the members that its models of pictures share. */
export const falImages: ImageFormat = {
  id: 'fal',
  encode(order) {
    const { request, count } = order;
    const { fields, losses } = fieldsFor(order);
    const body: JsonObject = { ...request.extra, prompt: request.prompt, num_images: count, ...fields };
    if (request.size !== null) body.image_size = { ...request.size };
    // The picture itself in the answer, as a data URL, and not kept there.
    body.sync_mode = request.answerForm === 'b64_json';
    return { body, losses };
  },
  decode(body) {
    const error = errorInside(body);
    if (error !== null) return error;
    if (!isObject(body) || !Array.isArray(body.images)) return malformed("the answer has no 'images'");
    return drawn(objectsIn(body.images).map(({ url = null }) => url));
  },
};
