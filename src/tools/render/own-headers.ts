import type { CDPSession } from 'playwright-core';

/**
 * Adds the caller's headers to what the page asks of its own origin, and of no other: redirects to elsewhere lose them,
 * because each hop is decided anew (CDP, Fetch.continueRequest: overrides do not extend to redirects).
 */
export async function addOwnHeaders(
  session: CDPSession,
  origin: string,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const own = Object.entries(headers);
  const named = new Set(own.map(([name]) => name));
  session.on('Fetch.requestPaused', ({ requestId, request }) => {
    const isOwn = URL.parse(request.url)?.origin === origin;
    const others = Object.entries(request.headers).filter(([name]) => !named.has(name.toLowerCase()));
    const told = [...others, ...own].map(([name, value]) => ({ name, value }));
    // The page may be gone by now.
    session.send('Fetch.continueRequest', { requestId, ...(isOwn && { headers: told }) }).catch(() => undefined);
  });
  await session.send('Fetch.enable', { patterns: [{ urlPattern: `${origin}/*`, requestStage: 'Request' }] });
}
