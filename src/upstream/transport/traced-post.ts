import type { Clock } from '../../kernel/clock.ts';
import { newRequestId } from '../../kernel/ids.ts';
import type { Traces } from '../../kernel/trace.ts';
import type { Post } from '../../kernel/web/post.ts';

/** The same webhook with a trace for each call. The path of its address may be a secret. */
export function tracedPost(post: Post, traces: Traces | null, clock: Clock): Post {
  if (traces === null) return post;
  return async (url, headers, body, timeoutMs) => {
    const atMs = clock.wallMs();
    const trace = traces.begin({ atMs, startedMs: clock.monotonicMs(), headers: null });
    // Where no time is given.
    let status = 504;
    try {
      status = await post(url, headers, body, timeoutMs);
      return status;
    } finally {
      const ids = { requestId: newRequestId(atMs), clientRequestId: null, account: '', keyId: '' };
      const about = new URL(url).origin;
      trace.end({ ...ids, method: null, route: 'webhook', status, about }, clock.monotonicMs());
    }
  };
}
