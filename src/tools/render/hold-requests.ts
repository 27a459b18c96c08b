import type { CDPSession } from 'playwright-core';

export type MayFollow = (url: URL) => Promise<boolean>;

export interface HeldPage {
  /** The start. */
  url: string;
  /**
   * Lower-case; added to requests of the page to its own origin, and to no other: redirects to elsewhere lose them,
   * because each hop is decided anew (CDP, Fetch.continueRequest: overrides do not extend to redirects).
   */
  headers: Readonly<Record<string, string>>;
  /** Asked before the page itself goes elsewhere, each hop of a redirect too; null: anywhere. */
  mayFollow: MayFollow | null;
  onRefused(): void;
}

/** That are asked about: a page that leads elsewhere without end has us fetch a robots.txt each time. */
const leadsMax = 10;

/** Holds the page's requests until they are decided on; those of which nothing is to be decided are not held. */
export async function holdRequests(session: CDPSession, held: HeldPage): Promise<void> {
  const { mayFollow, onRefused } = held;
  const start = new URL(held.url);
  start.hash = '';
  const pageHeaders = Object.entries(held.headers);
  const named = new Set(pageHeaders.map(([name]) => name));
  const patterns = [
    ...(pageHeaders.length > 0 ? [{ urlPattern: `${start.origin}/*`, requestStage: 'Request' as const }] : []),
    ...(mayFollow === null
      ? []
      : [{ urlPattern: '*', resourceType: 'Document' as const, requestStage: 'Request' as const }]),
  ];
  if (patterns.length === 0) return;
  const { frameTree } = await session.send('Page.getFrameTree');
  const page = frameTree.frame.id;
  let leads = 0;

  async function isRefused(frameId: string, type: string, url: string): Promise<boolean> {
    if (mayFollow === null || type !== 'Document' || frameId !== page || url === start.href) return false;
    // A request that does not belong to the web is refused for that.
    if (!/^https?:/.test(url)) return false;
    leads += 1;
    return leads > leadsMax || !(await mayFollow(new URL(url)));
  }

  session.on('Fetch.requestPaused', async ({ requestId, request, resourceType, frameId }) => {
    try {
      if (await isRefused(frameId, resourceType, request.url)) {
        onRefused();
        await session.send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' });
        return;
      }
      const isOfPage = pageHeaders.length > 0 && URL.parse(request.url)?.origin === start.origin;
      const others = Object.entries(request.headers).filter(([name]) => !named.has(name.toLowerCase()));
      const headers = [...others, ...pageHeaders].map(([name, value]) => ({ name, value }));
      await session.send('Fetch.continueRequest', { requestId, ...(isOfPage && { headers }) });
    } catch {
      // The page is gone by now.
    }
  });
  await session.send('Fetch.enable', { patterns });
}
