import { isObject, type JsonObject } from '../../kernel/json.ts';
import { below, jsonPost, type SearchEngine, sinceMs } from './search-engine.ts';

const resultsMax = 100;

/** Exa: search by meaning. It has no pages: earlier results are requested, too, and left out. */
export const exa: SearchEngine = {
  defaultBaseUrl: 'https://api.exa.ai',
  encode(query, { baseUrl, apiKey }) {
    const count = query.offset + query.limit;
    if (count > resultsMax) return { cannot: `it gives at most ${resultsMax} results` };
    if (query.source === 'images') return { cannot: 'it finds no images' };
    const { source, country, timeRange, includeDomains, excludeDomains, nowMs } = query;
    const body = {
      query: query.query,
      numResults: count,
      contents: { highlights: true },
      ...(source === 'news' ? { category: 'news' } : {}),
      ...(country === null ? {} : { userLocation: country }),
      ...(timeRange === null ? {} : { startPublishedDate: new Date(sinceMs(timeRange, nowMs)).toISOString() }),
      ...(includeDomains.length === 0 ? {} : { includeDomains }),
      ...(excludeDomains.length === 0 ? {} : { excludeDomains }),
    };
    return jsonPost(below(baseUrl, '/search'), { 'x-api-key': apiKey }, body, query.offset);
  },
  decode(body) {
    if (!isObject(body) || !Array.isArray(body.results)) return null;
    const hits = body.results.filter(isObject).map((hit) => {
      const { url, title, score, publishedDate } = hit;
      return { url, title, score, publishedDate, description: descriptionOf(hit) };
    });
    return { hits };
  },
};

function descriptionOf({ highlights, summary, text }: JsonObject): unknown {
  if (Array.isArray(highlights) && highlights.length > 0) {
    return highlights.filter((one) => typeof one === 'string').join(' … ');
  }
  return summary ?? text;
}
