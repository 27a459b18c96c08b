import { createTurns } from '../kernel/sharing/turns.ts';
import { createFetchGuard, type FetchRules, type ResolveAddresses } from './fetch-guard.ts';
import { type GuardedFetchOptions, guardedFetch } from './guarded-fetch.ts';
import { HostBusy, type HostTurns } from './host-turns.ts';
import { createRobotsCache, type PageFetched, type RobotsRules } from './page-robots.ts';

/** Fetches pages of the web as a good guest: through the guard, by turns at each host, under our own name. */
export interface PageFetcher {
  /** Never rejects; an answer of any status is `ok`. `busy`: too many wait for this host. */
  fetch(order: PageFetch): Promise<PageFetched>;
  /** The host's robots.txt for us, kept for a while. Never rejects. */
  robots(url: URL, signal: AbortSignal): Promise<RobotsRules>;
}

export interface PageFetch extends Pick<GuardedFetchOptions, 'known' | 'mayFollow' | 'leadsTo'> {
  /** Tenant whose turn it takes; '' for requests on behalf of all. */
  tenant: string;
  url: string;
  accept: string;
  /** Headers of `page-headers`, lower-case. */
  headers: Readonly<Record<string, string>>;
  /** Sends the name of a phone's browser, with ours. */
  mobile: boolean;
  /** Largest size of the decoded body of pages, and of PDFs. Larger PDFs are refused, larger pages are cut. */
  bytesMax: { page: number; pdf: number };
  /** Waiting included. */
  timeoutMs: number;
  /** Least pause since the last beginning at this host; null: the caller keeps the pace. */
  delayMs: number | null;
  signal: AbortSignal;
}

export interface PageFetcherParts {
  /** The rules in force. */
  rules(): FetchRules;
  /** Asked anew for every hop. */
  resolve: ResolveAddresses;
  turns: HostTurns;
  /** Wall-clock ms. */
  nowMs(): number;
  version: string;
  /** `server.public_url`: readers of their logs learn there who we are. */
  contact(): string | undefined;
}

/** For all callers together, with those that wait for a host's turn. */
const runningMax = 256;

export const pdfBytesMax = 20 * 1024 * 1024;

export function createPageFetcher(parts: PageFetcherParts): PageFetcher {
  const running = createTurns({
    name: 'Pages to fetch',
    places: runningMax,
    waitingMax: 0,
    tenantWaitingMax: 0,
    refusal: () => new HostBusy(),
  });
  const userAgent = () => userAgentOf(parts.version, parts.contact());

  async function fetchPage(order: PageFetch): Promise<PageFetched> {
    try {
      return await running.run(order.tenant, null, () => fetchInTurn(order));
    } catch (error) {
      if (error instanceof HostBusy) return busyAll;
      throw error;
    }
  }

  async function fetchInTurn(order: PageFetch): Promise<PageFetched> {
    const { tenant, url, mobile, bytesMax, timeoutMs, delayMs, signal } = order;
    const host = URL.parse(url)?.host ?? '';
    const ending = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const get = () =>
      guardedFetch(url, {
        ...order,
        guard: createFetchGuard(parts.rules(), parts.resolve),
        bytesMax: (contentType) => (/^\s*application\/pdf/i.test(contentType) ? bytesMax.pdf : bytesMax.page),
        whenTooLarge: 'cut',
        userAgent: mobile ? `${mobilePrefix} ${userAgent()}` : userAgent(),
        signal: ending,
      });
    try {
      const fetched = await (delayMs === null ? get() : parts.turns.take({ tenant, host, delayMs }, ending, get));
      if (fetched.ok || fetched.reason !== 'aborted' || signal.aborted) return fetched;
      return tooSlow;
    } catch (error) {
      if (error instanceof HostBusy) return busy;
      if (ending.aborted) return signal.aborted ? left : tooSlow;
      throw error;
    }
  }

  const robots = createRobotsCache({
    nowMs: parts.nowMs,
    get: (url, signal) => fetchPage({ url, signal, ...robotsOrder }),
  });
  return { fetch: fetchPage, robots };
}

const robotsBytesMax = 500 * 1024;
const robotsOrder = {
  tenant: '',
  accept: 'text/plain, */*;q=0.5',
  headers: {},
  mobile: false,
  bytesMax: { page: robotsBytesMax, pdf: robotsBytesMax },
  timeoutMs: 10_000,
  delayMs: null,
} as const;

export const tooSlow = { ok: false, reason: 'timeout', message: 'its server took too long' } as const;
export const left = { ok: false, reason: 'aborted', message: 'the caller no longer waits for it' } as const;
const busyAll = { ok: false, reason: 'busy', message: 'Culvert is fetching too many pages already' } as const;
export const busy = { ok: false, reason: 'busy', message: 'too many requests wait for this host already' } as const;

const robotsName = 'Culvert';
const mobilePrefix = 'Mozilla/5.0 (Linux; Android 14; Mobile) AppleWebKit/537.36 (KHTML, like Gecko) Mobile';

/** Our own name, wherever pages are asked. */
export function userAgentOf(version: string, contact: string | undefined): string {
  return `${robotsName}/${version}${contact === undefined ? '' : ` (+${contact})`}`;
}
