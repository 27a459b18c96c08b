import { isObject, listIn } from '../../../kernel/json.ts';
import type { ImageFormat } from './format.ts';
import { ratioBody } from './losses.ts';
import { drawn, malformed, refusedContent } from './read-answer.ts';

/**
 * Stability AI's models by Bedrock's InvokeModel: the members of Stability's own form as JSON, and another answer.
 * https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-diffusion-3-5-large.html
 */
export const bedrockStabilityImages: ImageFormat = {
  id: 'bedrock-stability',
  encode: ratioBody,
  decode(body) {
    if (!isObject(body)) return malformed('the answer is not an object');
    const [image] = listIn(body.images);
    const [reason] = listIn(body.finish_reasons);
    if (typeof reason === 'string') {
      return reason.startsWith('Filter reason')
        ? refusedContent(reason)
        : malformed(`drew no picture (${reason.slice(0, 64)})`);
    }
    return drawn(image);
  },
};
