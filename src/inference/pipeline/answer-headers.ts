import { lossHeader } from '../neutral/loss.ts';
import type { RouteAttempt } from '../routing/route.ts';
import type { HeaderList } from './caller.ts';
import type { Job, PreparedBody } from './job.ts';

/** The headers that say who answered, over how many attempts, for how much and with what left out (design §6). */
export function answerHeaders(job: Job, attempt: RouteAttempt, body: PreparedBody): HeaderList {
  const { target } = attempt;
  const headers = [
    'x-culvert-provider',
    headerSafe(target.provider),
    'x-culvert-model',
    headerSafe(target.model),
    'x-culvert-attempts',
    String(job.progress.attempts.length + 1),
    ...job.headers,
  ];
  const dropped = lossHeader(body.losses);
  if (dropped !== null) headers.push('x-culvert-dropped', dropped);
  if (target.simulated) headers.push('x-culvert-simulated', 'true');
  return headers;
}

/** Model ids come from upstreams: nothing but printable ASCII may stand in a header. */
function headerSafe(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : encodeURIComponent(text);
}
