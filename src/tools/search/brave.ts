import { isObject, type JsonObject } from '../../kernel/json.ts';
import {
  below,
  type CannotAsk,
  type EngineRequest,
  type EngineSettings,
  pageFor,
  type SearchEngine,
  type SearchQuery,
  type TimeRange,
  withDomains,
} from './search-engine.ts';

/** Its own bounds. */
const queryCharsMax = 400;
const queryWordsMax = 50;
const countMax = 20;
const pagesMax = 10;
const imagesMax = 200;

const freshness: Record<TimeRange, string> = { day: 'pd', week: 'pw', month: 'pm', year: 'py' };

/** Brave Search. Its `offset` counts pages. */
export const brave: SearchEngine = {
  defaultBaseUrl: 'https://api.search.brave.com',
  encode(query, { baseUrl, apiKey }) {
    const words = withDomains(query);
    if (words.length > queryCharsMax || words.split(/\s+/).length > queryWordsMax) {
      return { cannot: `its queries hold at most ${queryCharsMax} characters and ${queryWordsMax} words` };
    }
    if (query.source === 'images') return imagesRequest(query, words, { baseUrl, apiKey });
    const { page, skip } = pageFor(query.offset, countMax);
    if (page >= pagesMax) return { cannot: `it gives at most ${pagesMax} pages` };
    const url = below(baseUrl, `/res/v1/${query.source}/search`);
    url.searchParams.set('q', words);
    // Pages have the requested size: all but the first need the same size, or the second would repeat it.
    url.searchParams.set('count', String(page === 0 ? Math.min(countMax, skip + query.limit) : countMax));
    if (page > 0) url.searchParams.set('offset', String(page));
    if (query.country !== null) url.searchParams.set('country', query.country);
    if (query.lang !== null) url.searchParams.set('search_lang', query.lang);
    if (query.timeRange !== null) url.searchParams.set('freshness', freshness[query.timeRange]);
    if (query.source === 'web') {
      url.searchParams.set('result_filter', 'web');
      url.searchParams.set('text_decorations', 'false');
    }
    return get(url, apiKey, skip);
  },
  decode(body, { source }) {
    if (!isObject(body)) return null;
    if (source !== 'web') return Array.isArray(body.results) ? { hits: hitsOf(body.results) } : null;
    // Without a single hit `web` is left out.
    if (body.web === undefined) return body.type === 'search' ? { hits: [] } : null;
    return isObject(body.web) && Array.isArray(body.web.results) ? { hits: hitsOf(body.web.results) } : null;
  },
  faultOfStatus(status, message) {
    // It answers 422 to an unknown token as well as to a malformed query.
    if (status === 422 && /SUBSCRIPTION_TOKEN_INVALID|subscription token/i.test(message)) {
      return { class: 'bad_credential', message: 'it does not accept the API key' };
    }
    return status === 429 && /QUOTA/i.test(message)
      ? { class: 'quota_exhausted', message: 'its quota is used up' }
      : null;
  },
};

function get(url: URL, apiKey: string, skip: number): EngineRequest {
  return {
    method: 'GET',
    url,
    headers: { accept: 'application/json', 'x-subscription-token': apiKey },
    body: null,
    skip,
  };
}

/** Its images have no pages, and know no time. */
function imagesRequest(
  query: SearchQuery,
  words: string,
  { baseUrl, apiKey }: EngineSettings,
): EngineRequest | CannotAsk {
  const count = query.offset + query.limit;
  if (count > imagesMax) return { cannot: `it gives at most ${imagesMax} images` };
  if (query.timeRange !== null) return { cannot: 'it does not know how old an image is' };
  const url = below(baseUrl, '/res/v1/images/search');
  url.searchParams.set('q', words);
  url.searchParams.set('count', String(count));
  if (query.country !== null) url.searchParams.set('country', query.country);
  if (query.lang !== null) url.searchParams.set('search_lang', query.lang);
  return get(url, apiKey, query.offset);
}

function hitsOf(results: readonly unknown[]) {
  return results
    .filter(isObject)
    .map(({ url, title, description, page_age: publishedDate, properties }: JsonObject) => {
      const image = isObject(properties) && {
        image: { url: properties.url, width: properties.width, height: properties.height },
      };
      return { url, title, description, publishedDate, ...image };
    });
}
