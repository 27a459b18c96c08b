import { isObject } from '../../kernel/json.ts';
import { below, pageFor, type SearchEngine, type SearchSource, withDomains } from './search-engine.ts';

const categories: Record<SearchSource, string> = { web: 'general', news: 'news', images: 'images' };

/** Least number of results on a page of its answers, from any engine behind it. */
const pageHits = 10;

/** SearXNG, and searx before it: an engine of engines that one runs oneself. Needs `json` in its `search.formats`. */
export const searxng: SearchEngine = {
  encode(query, { baseUrl, apiKey }) {
    const url = below(baseUrl, '/search');
    const { page, skip } = pageFor(query.offset, pageHits);
    const { lang, country, timeRange } = query;
    url.searchParams.set('q', withDomains(query));
    url.searchParams.set('format', 'json');
    url.searchParams.set('categories', categories[query.source]);
    if (page > 0) url.searchParams.set('pageno', String(page + 1));
    if (lang !== null) url.searchParams.set('language', country === null ? lang : `${lang}-${country}`);
    if (timeRange !== null) url.searchParams.set('time_range', timeRange);
    const key: Record<string, string> = apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` };
    return { method: 'GET', url, headers: { accept: 'application/json', ...key }, body: null, skip };
  },
  decode(body, { source }) {
    if (!isObject(body) || !Array.isArray(body.results)) return null;
    const hits = body.results.filter(isObject).map(({ url, title, content, score, publishedDate, ...hit }) => {
      const image = source === 'images' && { image: { url: hit.img_src, ...sidesOf(hit.resolution) } };
      return { url, title, score, publishedDate, description: content, ...image };
    });
    const silent = unresponsive(body.unresponsive_engines);
    return hits.length === 0 && silent !== ''
      ? { hits, warning: `These engines gave no answer: ${silent}.` }
      : { hits };
  },
  faultOfStatus(status) {
    if (status !== 403) return null;
    return {
      // Not a refused credential, which would rest for minutes: the operator corrects it now, and tries.
      class: 'transient',
      message: 'it refuses JSON: search.formats in its settings.yml lacks json (add it after html and restart)',
    };
  },
};

/** `1920x1080`, `1920 × 1080`, with more words behind it from some. */
function sidesOf(resolution: unknown): { width?: number; height?: number } {
  const sides = typeof resolution === 'string' ? /^\s*(\d{1,6})\s*[x×*]\s*(\d{1,6})\b/i.exec(resolution) : null;
  return sides === null ? {} : { width: Number(sides[1]), height: Number(sides[2]) };
}

const unresponsiveMax = 10;

/** `[["google", "timeout"], …]` in words. */
function unresponsive(value: unknown): string {
  if (!Array.isArray(value)) return '';
  return value
    .slice(0, unresponsiveMax)
    .map((pair) => (Array.isArray(pair) ? pair.map(String).join(' ').slice(0, 80) : ''))
    .filter((words) => words !== '')
    .join(', ');
}
