import type { Post } from '../../kernel/web/post.ts';
import type { Transport } from './upstream-call.ts';

/** Bytes of an answer, which nobody reads: a few KB keep the connection for the next notice, more closes it. */
const answerBytesMax = 16 * 1024;

/** Posts to addresses that the operator configured. Redirects are not followed. */
export function createWebhookPost(transport: Transport): Post {
  return (url, headers, body, timeoutMs) =>
    new Promise((resolve, reject) => {
      const { origin, pathname, search } = new URL(url);
      let bytes = 0;
      const timer = setTimeout(() => {
        call.abort();
        reject(new Error('timed out'));
      }, timeoutMs);
      const call = transport.send(
        {
          origin,
          path: `${pathname}${search}`,
          method: 'POST',
          headers: Object.entries(headers).flat(),
          body,
          connectTimeoutMs: timeoutMs,
          headersTimeoutMs: timeoutMs,
          bodyTimeoutMs: timeoutMs,
        },
        {
          headers: (status) => resolve(status),
          data(chunk) {
            bytes += chunk.length;
            if (bytes <= answerBytesMax) return;
            clearTimeout(timer);
            call.abort();
          },
          ended: () => clearTimeout(timer),
          failed(error) {
            clearTimeout(timer);
            reject(new Error(error.message));
          },
        },
      );
    });
}
