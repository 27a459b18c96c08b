import type { Lifetime } from '../start-process.ts';
import { type BadSite, serve } from '../tools/bad-web/serve.ts';

/** This many calls of one key, before another key's. */
export const hardCalls = 16;

/** Holds a thread of the page readers for seconds. */
const hardPage = `<article>${'<p>a, b, c</p>'.repeat(70_000)}</article>`;

/** Held against a link of `/links`, it takes a matcher that tries again for ever. */
export const hardPattern = '(a?b?){400}[c-z]$';

/** Pages under `/hard` are slow to read, `/links` has many long links, `/script` needs a browser; all others are easy. */
export function serveHardSite(t: Lifetime): Promise<BadSite> {
  return serve(t, (response, request) => {
    response.setHeader('content-type', 'text/html');
    if (request.url?.startsWith('/hard')) return response.end(hardPage);
    if (request.url?.startsWith('/script')) return response.end('<script>document.write("written")</script>');
    const links = Array.from({ length: 300 }, (_, at) => `<a href="/${'ab'.repeat(700)}${at}">x</a>`);
    response.end(`<h1>Easy</h1><p>It has words.</p>${request.url === '/links' ? links.join('') : ''}`);
  });
}

/** Its tokens take a second or more to count. */
export function hardText(): string {
  return Array.from({ length: 500_000 }, (_, at) => `w${at.toString(36)}é`).join(' ');
}

/** Sends calls that hold a thread for seconds, this many times, and counts the answered ones. */
export function flood(ask: (nth: number, signal: AbortSignal) => Promise<Response>, calls = hardCalls) {
  const leaving = new AbortController();
  let answered = 0;
  const all = Array.from({ length: calls }, (_, nth) =>
    ask(nth, leaving.signal)
      .then(async (response) => {
        await response.arrayBuffer();
        answered += 1;
      })
      .catch(() => undefined),
  );
  return {
    answered: () => answered,
    async end() {
      leaving.abort();
      await Promise.all(all);
    },
  };
}
