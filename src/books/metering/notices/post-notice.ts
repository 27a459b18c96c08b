import type { Post } from '../../../kernel/web/post.ts';

const postTimeoutMs = 10_000;

/** Posts once; rejects unless a 2xx came in ten seconds. It names the host alone: the path is often a secret. */
export async function postNotice(
  post: Post,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<void> {
  const { host } = new URL(url);
  const status = await post(url, headers, body, postTimeoutMs).catch((error: Error) => {
    throw new Error(`${host} ${error.message}`);
  });
  // A redirect is not a receipt: nobody configured its target.
  if (status < 200 || status > 299) throw new Error(`${host} answered ${status}`);
}
