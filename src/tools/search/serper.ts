import { isObject } from '../../kernel/json.ts';
import {
  below,
  jsonPost,
  pageFor,
  type SearchEngine,
  type SearchSource,
  type TimeRange,
  withDomains,
} from './search-engine.ts';

const pageHits = 20;

const within: Record<TimeRange, string> = { day: 'qdr:d', week: 'qdr:w', month: 'qdr:m', year: 'qdr:y' };

const places: Record<SearchSource, { path: string; list: string }> = {
  web: { path: '/search', list: 'organic' },
  news: { path: '/news', list: 'news' },
  images: { path: '/images', list: 'images' },
};

/** Serper: Google's results. */
export const serper: SearchEngine = {
  defaultBaseUrl: 'https://google.serper.dev',
  encode(query, { baseUrl, apiKey }) {
    const { source, offset, limit, country, lang, timeRange } = query;
    const { page, skip } = pageFor(offset, pageHits);
    const body = {
      q: withDomains(query),
      // Pages have the requested size: all of them need the same size, or the second would repeat the first.
      num: page === 0 ? Math.min(pageHits, skip + limit) : pageHits,
      ...(page === 0 ? {} : { page: page + 1 }),
      ...(country === null ? {} : { gl: country.toLowerCase() }),
      ...(lang === null ? {} : { hl: lang }),
      ...(timeRange === null ? {} : { tbs: within[timeRange] }),
    };
    return jsonPost(below(baseUrl, places[source].path), { 'x-api-key': apiKey }, body, skip);
  },
  decode(body, { source }) {
    if (!isObject(body)) return null;
    const results = body[places[source].list];
    // Without a hit the list is left out; `searchParameters` is there always.
    if (results === undefined) return isObject(body.searchParameters) ? { hits: [] } : null;
    if (!Array.isArray(results)) return null;
    const hits = results.filter(isObject).map(({ link, title, snippet, date, imageUrl, imageWidth, imageHeight }) => {
      const image = source === 'images' && { image: { url: imageUrl, width: imageWidth, height: imageHeight } };
      return { url: link, title, description: snippet, publishedDate: date, ...image };
    });
    return { hits };
  },
  faultOfStatus(status, message) {
    return status === 400 && /credits/i.test(message)
      ? { class: 'quota_exhausted', message: 'its credits are used up' }
      : null;
  },
};
