import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { errorInside } from '../../dialects/forwarded/read-whole.ts';
import { fault } from '../../neutral/outcome.ts';
import type { ImageFormat } from './format.ts';
import { fieldsFor, ratioFor } from './losses.ts';
import { malformed, pictureIn, refusedContent } from './read-answer.ts';

/**
 * https://docs.bfl.ai/api_integration: a task is begun, and its `polling_url` tells when the picture is ready. Links to
 * pictures work for ten minutes.
 */
export const bflImages: ImageFormat = {
  id: 'bfl',
  encode(order) {
    const { request, facts, source } = order;
    const ratio = ratioFor(facts.sizes, request.size);
    const { fields, losses } = fieldsFor(order);
    const body: JsonObject = { ...request.extra, prompt: request.prompt, ...fields };
    if (facts.sizes.kind !== 'ratios' && request.size !== null) Object.assign(body, { ...request.size });
    if (ratio.ratio !== null) body.aspect_ratio = ratio.ratio;
    for (const [index, { base64 }] of (source?.pictures ?? []).entries()) {
      body[index === 0 ? 'input_image' : `input_image_${index + 1}`] = base64;
    }
    return { body, losses: [...losses, ...ratio.losses] };
  },
  job: {
    at: (begun) => (typeof begun.polling_url === 'string' ? begun.polling_url : null),
    hosts: /(^|\.)bfl\.(ai|ml)$/,
    runs: ({ status }) => status === 'Pending' || status === 'Queued' || status === 'Processing',
  },
  decode(body) {
    if (!isObject(body)) return malformed('the answer is no object');
    const { status, result } = body;
    if (status === 'Request Moderated' || status === 'Content Moderated') return refusedContent(status);
    const image = isObject(result) ? pictureIn(result.sample, undefined) : null;
    if (status === 'Ready' && image !== null) return { images: [image], usage: null, reported: {} };
    if (typeof status === 'string' && status !== 'Ready')
      return fault('transient', `the task ended: ${status.slice(0, 100)}`);
    return errorInside(body) ?? malformed('the answer holds no picture');
  },
};
