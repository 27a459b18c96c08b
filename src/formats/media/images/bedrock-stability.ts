import { isObject, type JsonObject, listIn } from '../../../kernel/json.ts';
import type { ImageFormat } from './format.ts';
import { fieldsFor, ratioFor } from './losses.ts';
import { malformed, pictureIn, refusedContent } from './read-answer.ts';

/**
 * Stability AI's models by Bedrock's InvokeModel: the members of Stability's own form as JSON, and another answer.
 * https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-diffusion-3-5-large.html
 */
export const bedrockStabilityImages: ImageFormat = {
  id: 'bedrock-stability',
  encode(order) {
    const { request, facts } = order;
    const ratio = ratioFor(facts.sizes, request.size);
    const { fields, losses } = fieldsFor(order);
    const body: JsonObject = { ...request.extra, prompt: request.prompt, ...fields };
    if (ratio.ratio !== null) body.aspect_ratio = ratio.ratio;
    return { body, losses: [...losses, ...ratio.losses] };
  },
  decode(body) {
    if (!isObject(body)) return malformed('the answer is not an object');
    const [image] = listIn(body.images);
    const [reason] = listIn(body.finish_reasons);
    if (typeof reason === 'string') {
      return reason.startsWith('Filter reason')
        ? refusedContent(reason)
        : malformed(`drew no picture (${reason.slice(0, 64)})`);
    }
    const picture = pictureIn(image, undefined);
    return picture === null
      ? malformed('the answer holds no picture')
      : { images: [picture], usage: null, reported: {} };
  },
};
