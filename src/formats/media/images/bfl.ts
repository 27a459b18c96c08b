import { isObject, objectIn } from '../../../kernel/json.ts';
import { errorInside } from '../../dialects/forwarded/read-whole.ts';
import { fault } from '../../neutral/outcome.ts';
import type { ImageFormat } from './format.ts';
import { ratioBody } from './losses.ts';
import { drawn, malformed, refusedContent } from './read-answer.ts';

/**
 * https://docs.bfl.ai/api_integration: a task is begun, and its `polling_url` tells when the picture is ready. Links to
 * pictures work for ten minutes.
 */
export const bflImages: ImageFormat = {
  id: 'bfl',
  encode(order) {
    const { request, facts, source } = order;
    const { body, losses } = ratioBody(order);
    if (facts.sizes.kind !== 'ratios') Object.assign(body, request.size);
    for (const [index, { base64 }] of (source?.pictures ?? []).entries()) {
      body[index === 0 ? 'input_image' : `input_image_${index + 1}`] = base64;
    }
    return { body, losses };
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
    if (typeof status === 'string' && status !== 'Ready')
      return fault('transient', `the task ended: ${status.slice(0, 100)}`);
    return drawn(status === 'Ready' ? objectIn(result).sample : undefined, errorInside(body));
  },
};
