import { FailureError, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonValue } from '../../kernel/json.ts';
import { nearest } from '../../kernel/nearest.ts';
import type { ToolFields } from '../tool-fields.ts';
import { type SearchQuery, type SearchSource, searchSources, type TimeRange, timeRanges } from './search-engine.ts';

/** A checked request to `search`. */
export interface SearchOptions extends Omit<SearchQuery, 'source' | 'nowMs'> {
  sources: readonly SearchSource[];
  /** The name of an engine of the configuration; null: in order of priority. */
  provider: string | null;
  /** For everything, pages included. */
  timeoutMs: number;
  /** How the hits are to be scraped, for the scraper's own reader; null: not at all. */
  scrape: ToolFields | null;
}

const queryCharsMax = 500;
const limits = { min: 1, max: 20, default: 5 };
const domainsMax = 50;
const domainCharsMax = 300;
const sourcesMax = 10;

/**
 * Throws a FailureError, a 400 that names the field. `providers`: the names that `provider` may take. `max_results`,
 * `topic` and lists with an underscore are Tavily's words.
 */
export function readSearch(fields: ToolFields, providers: readonly string[]): SearchOptions {
  const lang = langOf(fields);
  return {
    query: wordsOfQuery(fields),
    limit: fields.whole('limit', { ...limits, default: fields.whole('max_results', limits) }),
    offset: fields.whole('offset', { min: 0, max: 1_000, default: 0 }),
    sources: sourcesOf(fields),
    country: countryOf(fields) ?? lang.country,
    lang: lang.lang,
    timeRange: rangeOf(fields),
    includeDomains: domainsOf(fields, 'includeDomains', 'include_domains'),
    excludeDomains: domainsOf(fields, 'excludeDomains', 'exclude_domains'),
    provider: providerOf(fields, providers),
    timeoutMs: fields.whole('timeout', { min: 1_000, max: 300_000, default: 60_000 }),
    scrape: fields.object('scrapeOptions'),
  };
}

/** A question of it to one engine. */
export function queryOf(options: SearchOptions, source: SearchSource, nowMs: number): SearchQuery {
  const { sources: _sources, provider: _provider, timeoutMs: _timeout, scrape: _scrape, ...query } = options;
  return { ...query, source, nowMs };
}

function wordsOfQuery(fields: ToolFields): string {
  const value = fields.value('query');
  const text = typeof value === 'string' ? value.toWellFormed().replace(unprintable, ' ').trim() : '';
  if (text === '' || text.length > queryCharsMax) {
    return fields.refuse('query', `the words to search for, 1 to ${queryCharsMax} characters`);
  }
  return text;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go.
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

/** `["web"]`, or Firecrawl's `[{"type": "web"}]`. */
function sourcesOf(fields: ToolFields): readonly SearchSource[] {
  const value = fields.value('sources');
  if (value === undefined) return [fields.oneOf('topic', ['general', 'news', 'finance']) === 'news' ? 'news' : 'web'];
  const names = Array.isArray(value) ? value.slice(0, sourcesMax).map((one) => (isObject(one) ? one.type : one)) : [];
  const known = names.every((name) => (searchSources as readonly unknown[]).includes(name));
  if (names.length === 0 || !known) return fields.refuse('sources', `a list of ${searchSources.join(', ')}`);
  return searchSources.filter((source) => names.includes(source));
}

function countryOf(fields: ToolFields): string | null {
  const text = fields.text('country', { min: 2, max: 2 });
  if (text === null) return null;
  return /^[a-z]{2}$/i.test(text) ? text.toUpperCase() : fields.refuse('country', 'a code of two letters such as US');
}

function langOf(fields: ToolFields): { lang: string | null; country: string | null } {
  const text = fields.text('lang', { min: 2, max: 5 });
  if (text === null) return { lang: null, country: null };
  const [, lang, country] = /^([a-z]{2})(?:[-_]([a-z]{2}))?$/i.exec(text) ?? [];
  if (lang === undefined) return fields.refuse('lang', 'a code such as en or en-US');
  return { lang: lang.toLowerCase(), country: country?.toUpperCase() ?? null };
}

/** Tavily has letters too, and Firecrawl's SDK `tbs` instead of `time_range`. */
function rangeOf(fields: ToolFields): TimeRange | null {
  const word = fields.oneOf('time_range', [...timeRanges, 'd', 'w', 'm', 'y']);
  const tbs = fields.oneOf('tbs', ['qdr:d', 'qdr:w', 'qdr:m', 'qdr:y']);
  const letter = word?.charAt(0) ?? tbs?.at(-1) ?? 'none';
  return timeRanges.find((range) => range.startsWith(letter)) ?? null;
}

function domainsOf(fields: ToolFields, ...names: readonly string[]): readonly string[] {
  const domains = names.flatMap((name) => {
    const texts = fields.texts(name, { itemsMax: domainsMax, charsMax: domainCharsMax }) ?? [];
    return texts.map(
      (text, at) => domainOf(text) ?? fields.refuse(`${name}[${at}]`, 'a host name such as example.org'),
    );
  });
  return [...new Set(domains)];
}

/** A host name; a whole URL and `*.` before the name are understood. */
function domainOf(text: string): string | null {
  const plain = text.trim().replace(/^\*\./, '');
  const host = URL.parse(plain.includes('://') ? plain : `http://${plain}`)?.hostname.replace(/\.+$/, '') ?? '';
  // Nothing that could be more than one word of a query, since some engines take it as one.
  return /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(host) ? host : null;
}

function providerOf(fields: ToolFields, providers: readonly string[]): string | null {
  const value: JsonValue | undefined = fields.value('provider');
  if (value === undefined) return null;
  if (typeof value === 'string' && providers.includes(value)) return value;
  const near = typeof value === 'string' ? nearest(value.slice(0, 50), providers) : null;
  const hint = near === null ? '' : ` Did you mean '${near}'?`;
  const path = fields.pathOf('provider');
  const message = `'${path}' must be a search engine that this server has: ${providers.join(', ')}.${hint}`;
  throw new FailureError(invalid(path, message));
}
