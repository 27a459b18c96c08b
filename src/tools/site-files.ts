import type { PageFetcher } from '../net/page-fetch.ts';

/** Files of a site other than its pages. Neither rejects. */
export type SiteFileReader = ReturnType<typeof createSiteFiles>;

const fileTimeoutMs = 20_000;
const fileDelayMs = 0;

export function createSiteFiles(fetcher: PageFetcher) {
  return {
    robots: fetcher.robots,
    /** A file such as a sitemap; null when it cannot be had. Of larger ones the first `bytesMax`. */
    async file(tenant: string, url: string, bytesMax: number, signal: AbortSignal): Promise<Uint8Array | null> {
      const fetched = await fetcher.fetch({
        tenant,
        url,
        accept: 'application/xml, text/xml, text/plain;q=0.9, */*;q=0.5',
        headers: {},
        mobile: false,
        bytesMax: { page: bytesMax, pdf: 0 },
        timeoutMs: fileTimeoutMs,
        delayMs: fileDelayMs,
        signal,
      });
      return fetched.ok && fetched.status >= 200 && fetched.status < 300 ? new Uint8Array(fetched.body) : null;
    },
  };
}
