import type { ServerSource, WebSearchTool } from '../../../formats/neutral/server-tool.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { SearchTool } from '../../../tools/search/search-tool.ts';
import type { ToolAnswer, ToolJob } from '../../../tools/tool-call.ts';
import { ToolFields } from '../../../tools/tool-fields.ts';
import type { ServerToolPorts } from '../../server-tools/tool-ports.ts';
import type { ServeServices } from '../../spine/answer-cache.ts';
import { call } from '../../spine/call.ts';
import { madeOrder } from '../../spine/readable-input.ts';
import { abandoned, costMilliIn } from '../../spine/work.ts';
import { type ToolCaller, type ToolOrder, toolEndpoint } from '../pages/tool-endpoint.ts';

/** Pages of a search, and how much of each the model reads; with `read`, the pages themselves. */
const details = {
  low: { limit: 5, charsMax: 1_000, read: false },
  medium: { limit: 4, charsMax: 4_000, read: true },
  high: { limit: 8, charsMax: 8_000, read: true },
} as const satisfies Record<WebSearchTool['detail'], object>;
const queryCharsMax = 500;

/** A search of the web, or of pages. A wrong field throws a FailureError. */
export function prepareSearch(
  search: Pick<SearchTool, 'prepare'>,
  fields: ToolFields,
  { principal, startedMs }: ToolCaller,
): ToolJob {
  return search.prepare(fields, { tenant: principal.tenant, keyId: principal.keyId, startedMs });
}

/** Searches for models: those of the owner's key, at the same cost. */
export function createWebSearch(services: ServeServices, search: SearchTool): ServerToolPorts['searchWeb'] {
  return async ({ principal, requestId, tag }, query, how, signal) => {
    const answers: ToolAnswer[] = [];
    const order = madeOrder<ToolOrder>('search', fieldsOf(query, how), (fields) => ({
      prepare: (caller) => prepareSearch(search, new ToolFields(fields), caller),
      write(answer) {
        answers.push(answer);
        return '';
      },
    }));
    const outcome = await call(services, toolEndpoint, { principal, of: requestId, tag }, order, { signal });
    if (outcome?.kind === 'refused') return outcome.failure;
    const [answer] = answers;
    if (outcome === null || answer === undefined) return abandoned;
    const sources = pagesIn(answer, details[how.detail].charsMax);
    return { sources, costMilli: costMilliIn(outcome.headers) };
  };
}

function fieldsOf(query: string, { detail, allowedDomains, blockedDomains, country }: WebSearchTool): JsonObject {
  const { limit, read } = details[detail];
  return {
    query: query.slice(0, queryCharsMax),
    limit,
    ...(country !== null && { country }),
    ...(allowedDomains.length > 0 && { includeDomains: [...allowedDomains] }),
    ...(blockedDomains.length > 0 && { excludeDomains: [...blockedDomains] }),
    ...(read && { scrapeOptions: { formats: ['markdown'] } }),
  };
}

function pagesIn({ body: { data } }: { body: JsonObject }, charsMax: number): ServerSource[] {
  const hits = isObject(data) && Array.isArray(data.web) ? data.web.filter(isObject) : [];
  return hits.map((hit) => ({
    url: String(hit.url),
    title: String(hit.title ?? ''),
    quote: String(hit.markdown ?? hit.description ?? '')
      .slice(0, charsMax)
      .toWellFormed(),
    score: null,
    attributes: {},
    age: typeof hit.publishedDate === 'string' ? hit.publishedDate : null,
  }));
}
