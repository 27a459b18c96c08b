import * as robots from 'robots-parser';
import { putNewest } from '../kernel/put-newest.ts';
import type { Fetched } from './guarded-fetch.ts';

export type PageFetched = Fetched | { ok: false; reason: 'busy'; message: string };

/** A host's robots.txt for us. */
export interface RobotsRules {
  allows(url: URL): boolean;
  crawlDelayMs: number | null;
  /** Absolute addresses, as the file has them. */
  sitemaps: readonly string[];
}

export interface RobotsParts {
  /** Wall-clock ms. */
  nowMs(): number;
  get(url: string, signal: AbortSignal): Promise<PageFetched>;
}

// Its types speak of an ES module, which it is not.
const robotsParser = robots.default as unknown as typeof robots.default.default;

const lifetimeMs = 24 * 3_600_000;
/** A failed read is repeated sooner. */
const unreachableLifetimeMs = 10 * 60_000;
const originsMax = 1_000;
/** Comparing a path with a rule that has a `*` costs the product of their lengths: bombs are made of these. */
const lineCharsMax = 2_000;
const rulesMax = 5_000;
const starRulesMax = 300;
const starCharsMax = 200;
const comparedCharsMax = 2_000;
const sitemapsMax = 100;
const crawlDelayMaxMs = 60_000;

const everything: RobotsRules = { allows: () => true, crawlDelayMs: null, sitemaps: [] };
/** RFC 9309 §2.3.1.4: a robots.txt that cannot be reached forbids all. */
const nothing: RobotsRules = { allows: () => false, crawlDelayMs: null, sitemaps: [] };

/** robots.txt by origin, as RFC 9309 says: 4xx allows all, what cannot be reached forbids all. */
export function createRobotsCache({
  nowMs,
  get,
}: RobotsParts): (url: URL, signal: AbortSignal) => Promise<RobotsRules> {
  const cached = new Map<string, { untilMs: number; rules: RobotsRules }>();
  return async ({ origin }, signal) => {
    const known = cached.get(origin);
    if (known !== undefined && known.untilMs > nowMs()) return known.rules;
    const fetched = await get(`${origin}/robots.txt`, signal);
    // A request that was aborted or refused here says nothing of the host.
    if (signal.aborted || (!fetched.ok && fetched.reason === 'busy')) return nothing;
    // Nor does the guard's refusal of the host: its pages are refused by the guard, and not by a robots.txt.
    if (!fetched.ok && fetched.reason === 'blocked' && fetched.isFirst) return everything;
    const reached = fetched.ok && fetched.status < 500;
    const rules = reached ? rulesIn(origin, fetched.status, fetched.body) : nothing;
    const entry = { untilMs: nowMs() + (reached ? lifetimeMs : unreachableLifetimeMs), rules };
    putNewest(cached, origin, entry, originsMax);
    return rules;
  };
}

function rulesIn(origin: string, status: number, body: Buffer): RobotsRules {
  if (status >= 300) return everything;
  const parsed = robotsParser(`${origin}/robots.txt`, boundedLines(body.toString('utf8')));
  const delayS = parsed.getCrawlDelay(ourName);
  return {
    allows: (url) => parsed.isAllowed((origin + url.pathname + url.search).slice(0, comparedCharsMax), ourName) ?? true,
    crawlDelayMs: delayS === undefined || !(delayS > 0) ? null : Math.min(delayS * 1_000, crawlDelayMaxMs),
    sitemaps: parsed.getSitemaps().slice(0, sitemapsMax),
  };
}

const ourName = 'Culvert';

/** Lines of our groups and of everybody's, and the sitemaps: groups of others take no room of ours. */
function boundedLines(text: string): string {
  let [starRules, isAgent, isOurs] = [0, false, false];
  const lines = text.split(/\r\n|\r|\n/).filter((line) => {
    const [, name = '', agent = ''] = /^\s*([\w-]+)\s*:\s*([^\s/#]*)/.exec(line) ?? [];
    if (name === '' || line.length > lineCharsMax) return false;
    const wasAgent = isAgent;
    isAgent = name.toLowerCase() === 'user-agent';
    if (isAgent) isOurs = (wasAgent && isOurs) || ['*', ourName.toLowerCase()].includes(agent.toLowerCase());
    if (isAgent || !line.includes('*')) return isOurs || name.toLowerCase() === 'sitemap';
    if (isOurs) starRules += 1;
    return isOurs && line.length <= starCharsMax && starRules <= starRulesMax;
  });
  return lines.slice(0, rulesMax).join('\n');
}
