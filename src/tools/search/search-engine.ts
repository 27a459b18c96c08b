import type { Fault } from '../../formats/neutral/outcome.ts';

export const searchSources = ['web', 'news', 'images'] as const;
export type SearchSource = (typeof searchSources)[number];
export const timeRanges = ['day', 'week', 'month', 'year'] as const;
export type TimeRange = (typeof timeRanges)[number];

const days: Record<TimeRange, number> = { day: 1, week: 7, month: 31, year: 366 };

/** Where such a time begins. */
export function sinceMs(range: TimeRange, nowMs: number): number {
  return nowMs - days[range] * 86_400_000;
}

/** One question to an engine, checked. */
export interface SearchQuery {
  query: string;
  source: SearchSource;
  limit: number;
  /** Results to leave out from the beginning. */
  offset: number;
  /** ISO 3166-1, two letters, upper case; null: none. */
  country: string | null;
  /** ISO 639-1, two letters, lower case; null = no wish. */
  lang: string | null;
  timeRange: TimeRange | null;
  /** Host names in lower case. */
  includeDomains: readonly string[];
  excludeDomains: readonly string[];
  /** Wall-clock ms, for engines that want a date. */
  nowMs: number;
}

/** A result in the engine's own form. */
export interface RawHit {
  url: unknown;
  title: unknown;
  description: unknown;
  score?: unknown;
  publishedDate?: unknown;
  /** For images: the picture on the page at `url`. */
  image?: { url: unknown; width?: unknown; height?: unknown };
}

/** Address and credential of an engine, from the configuration. */
export interface EngineSettings {
  baseUrl: string;
  apiKey: string;
}

export interface EngineRequest {
  method: 'GET' | 'POST';
  url: URL;
  /** Lower case. */
  headers: Readonly<Record<string, string>>;
  body: string | null;
  /** Hits that come before the wanted ones, because the engine knows whole pages alone. */
  skip: number;
}

/** A question in JSON. `credential`: the header that holds the key. */
export function jsonPost(url: URL, credential: EngineRequest['headers'], body: object, skip: number): EngineRequest {
  const headers = { ...credential, 'content-type': 'application/json', accept: 'application/json' };
  return { method: 'POST', url, headers, body: JSON.stringify(body), skip };
}

/** This engine cannot be asked this; in words. The others are. */
export interface CannotAsk {
  cannot: string;
}

/** The hits of a good answer, null when it is not one, or the fault that it tells with status 200. */
export type Decoded = { hits: readonly RawHit[]; warning?: string } | null;

/** One search service: pure, no socket and no clock. */
export interface SearchEngine {
  /** Undefined: the operator says where it is. */
  defaultBaseUrl?: string;
  encode(query: SearchQuery, settings: EngineSettings): EngineRequest | CannotAsk;
  decode(body: unknown, query: SearchQuery): Decoded;
  /** The fault that its own words mean at a status; null: as everywhere. */
  faultOfStatus?(status: number, message: string): Pick<Fault, 'class' | 'message'> | null;
}

/** `site:` words for engines that know no list of domains; '' when there is no wish. */
function domainWords({ includeDomains, excludeDomains }: SearchQuery): string {
  const sites = includeDomains.map((domain) => `site:${domain}`).join(' OR ');
  const unwanted = excludeDomains.map((domain) => `-site:${domain}`).join(' ');
  return [includeDomains.length > 1 ? `(${sites})` : sites, unwanted].filter((words) => words !== '').join(' ');
}

/** The query with its `site:` words. */
export function withDomains(query: SearchQuery): string {
  const words = domainWords(query);
  return words === '' ? query.query : `${query.query} ${words}`;
}

/** `path` below the base address, whatever that ends with. */
export function below(baseUrl: string, path: string): URL {
  return new URL(baseUrl.replace(/\/+$/, '') + path);
}

/** The first place of a page of `size` that holds the first wanted hit, and how many of its hits come before. */
export function pageFor(offset: number, size: number): { page: number; skip: number } {
  const page = Math.floor(offset / size);
  return { page, skip: offset - page * size };
}
