import { isObject } from '../../kernel/json.ts';
import { below, jsonPost, type SearchEngine } from './search-engine.ts';

const resultsMax = 20;

/** Tavily. It has no pages: earlier results are requested, too, and left out. */
export const tavily: SearchEngine = {
  defaultBaseUrl: 'https://api.tavily.com',
  encode(query, { baseUrl, apiKey }) {
    const count = query.offset + query.limit;
    if (query.offset >= resultsMax) return { cannot: `it gives at most ${resultsMax} results` };
    const { source, timeRange, includeDomains, excludeDomains } = query;
    if (source === 'images') return { cannot: 'it finds no images' };
    const country = source === 'web' ? countryName(query.country) : null;
    const body = {
      query: query.query,
      max_results: Math.min(count, resultsMax),
      topic: source === 'news' ? 'news' : 'general',
      ...(timeRange === null ? {} : { time_range: timeRange }),
      ...(country === null ? {} : { country }),
      ...(includeDomains.length === 0 ? {} : { include_domains: includeDomains }),
      ...(excludeDomains.length === 0 ? {} : { exclude_domains: excludeDomains }),
    };
    return jsonPost(below(baseUrl, '/search'), { authorization: `Bearer ${apiKey}` }, body, query.offset);
  },
  decode(body) {
    if (!isObject(body) || !Array.isArray(body.results)) return null;
    const hits = body.results.filter(isObject).map(({ url, title, content, score, published_date: publishedDate }) => {
      return { url, title, score, publishedDate, description: content };
    });
    return { hits };
  },
  faultOfStatus(status) {
    // Its own statuses for the plan's limit and that of pay-as-you-go.
    return status === 432 || status === 433 ? { class: 'quota_exhausted', message: 'its plan is used up' } : null;
  },
};

const names = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' });

/** It takes names: `united states` for US; null for an unknown code. */
function countryName(code: string | null): string | null {
  return code === null ? null : (names.of(code)?.toLowerCase() ?? null);
}
