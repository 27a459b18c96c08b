import type { Services } from '../inference/endpoints/services.ts';
import { createToolMeter } from '../inference/metered/meter-tools.ts';
import type { FileSearchTool, ServerSource, WebSearchTool } from '../inference/neutral/server-tool.ts';
import { vectorFilter } from '../inference/server-tools/file-filter.ts';
import type { FoundSources, ServerToolPorts, ToolOwner } from '../inference/server-tools/tool-ports.ts';
import { type Failure, FailureError, statusOf } from '../kernel/failure.ts';
import { isObject, type JsonObject } from '../kernel/json.ts';
import { isPaid, type PageReader } from '../tools/page-reader.ts';
import { readScrapeOptions, readUrl } from '../tools/scrape/scrape-options.ts';
import type { SearchTool } from '../tools/search/search-tool.ts';
import { ToolFields } from '../tools/tool-fields.ts';
import type { VectorEngine } from '../vectors/engine.ts';
import { callFor, createMcpCalls, type McpCallsParts } from './mcp-calls.ts';
import { createVectorCalls } from './vector-calls.ts';

export interface ServerToolsParts extends Pick<McpCallsParts, 'guarded' | 'upstream'> {
  services: Services;
  tools: { search: SearchTool; reader: Pick<PageReader, 'read'> };
  vectors: VectorEngine;
}

/** Pages of a search, and how much of each the model reads; with `read`, the pages themselves. */
const details = {
  low: { limit: 5, charsMax: 1_000, read: false },
  medium: { limit: 4, charsMax: 4_000, read: true },
  high: { limit: 8, charsMax: 8_000, read: true },
} as const satisfies Record<WebSearchTool['detail'], object>;
const queryCharsMax = 500;
const passageCharsMax = 4_000;

/**
 * Tools as calls of the key that they are made for, at the cost of `/v1/tools/search`, `/v1/tools/scrape` and a vector
 * search. A call of a
 * caller's own MCP server is free, and has its row.
 */
export function createServerToolPorts({
  services,
  tools: { search, reader },
  vectors,
  guarded,
  upstream,
}: ServerToolsParts): ServerToolPorts {
  const meter = createToolMeter(services);
  const askVectors = createVectorCalls({ engine: vectors, services });

  /** The pages that callers have read are searched where the operator says so alone. */
  const searchesWeb = () =>
    services.snapshot().config.tools.search.providers.length > 0 ||
    search.engines().some(({ driver }) => driver !== null);

  async function searchWeb(
    owner: ToolOwner,
    query: string,
    how: WebSearchTool,
    signal: AbortSignal,
  ): Promise<FoundSources | Failure> {
    const call = callFor(services.clock, owner);
    const { startedMs } = call;
    const { tenant, keyId } = owner.principal;
    const job = prepared(() => search.prepare(fieldsOf(query, how), { tenant, keyId, startedMs }));
    if ('kind' in job) return job;
    const hold = await meter.hold(call, job.charge);
    if (hold.kind !== 'held') return hold;
    let end: Parameters<typeof hold.settle>[0] = { status: 500, failure: { kind: 'internal' }, aborted: false };
    try {
      const answer = await job.run(signal);
      if (answer.kind !== 'answer') {
        end = { status: statusOf(answer), failure: answer, aborted: signal.aborted, worked: isPaid(answer) };
        return answer;
      }
      const { pages = 0 } = answer;
      end = { status: 200, failure: null, aborted: false, pages };
      return { sources: pagesIn(answer.body, details[how.detail].charsMax), costMilli: hold.costOf(pages) * 1_000 };
    } finally {
      hold.settle(end);
    }
  }

  const fetchPage: ServerToolPorts['fetchPage'] = async (owner, address, { cache }, mayFollow, signal) => {
    const asked = prepared(() => {
      const fields = new ToolFields({ url: address, formats: ['markdown'], ...(cache === 'fresh' && { maxAge: 0 }) });
      return { url: readUrl(fields), options: readScrapeOptions(fields).options };
    });
    if ('kind' in asked) return asked;
    const hold = await meter.hold(callFor(services.clock, owner), { tool: 'scrape', pagesMax: 0 });
    if (hold.kind !== 'held') return hold;
    let end: Parameters<typeof hold.settle>[0] = { status: 500, failure: { kind: 'internal' }, aborted: false };
    try {
      const { tenant, keyId } = owner.principal;
      const page = await reader.read({ ...asked, tenant, keyId, paced: false, mayFollow, signal });
      if ('kind' in page) {
        end = { status: statusOf(page), failure: page, aborted: signal.aborted, worked: isPaid(page) };
        return page;
      }
      end = { status: 200, failure: null, aborted: false };
      const { url, title, statusCode: status } = page.metadata;
      const { markdown = '', warnings } = page;
      // A picture is paid as a page is: it was fetched.
      if (markdown === '' && warnings.length > 0) return { kind: 'unsupported', message: warnings.join(' ') };
      const fetchedAt = new Date(services.clock.wallMs()).toISOString();
      const costMilli = hold.costOf(0) * 1_000;
      return { url, title: title ?? '', status, text: markdown, fetchedAt, costMilli };
    } finally {
      hold.settle(end);
    }
  };

  async function searchFiles(owner: ToolOwner, query: string, how: FileSearchTool): Promise<FoundSources | Failure> {
    const { principal, requestId, tag } = owner;
    const filter = how.filters === null ? null : vectorFilter(how.filters, how.field);
    if (filter !== null && 'kind' in filter) return filter as Failure;
    const body: JsonObject = {
      text: query,
      limit: how.resultsMax,
      with_payload: true,
      ...(filter !== null && { filter }),
      ...(how.scoreMin !== null && { score_threshold: how.scoreMin }),
    };
    const sources: ServerSource[] = [];
    for (const collection of how.collections) {
      const route = 'file search';
      const params = { collection };
      const of = { requestId, tag };
      const answer = await askVectors({ principal, verb: 'search-points', params, body, route, of });
      if (answer.kind !== 'answer') return answer;
      const { result } = JSON.parse(Buffer.from(answer.body).toString()) as { result: readonly FoundPoint[] };
      sources.push(...result.map(passageOf));
    }
    sources.sort((a, b) => (b.score ?? 0) - (a.score ?? 0));
    const cost = services.snapshot().config.costs.vectors * how.collections.length;
    return { sources: sources.slice(0, how.resultsMax), costMilli: Math.round(cost * 1_000) };
  }

  return {
    has: (kind) => kind !== 'web_search' || searchesWeb(),
    searchWeb,
    searchFiles,
    fetchPage,
    openMcp: createMcpCalls({ clock: services.clock, meter, guarded, upstream }),
  };
}

function fieldsOf(query: string, { detail, allowedDomains, blockedDomains, country }: WebSearchTool): ToolFields {
  const { limit, read } = details[detail];
  return new ToolFields({
    query: query.slice(0, queryCharsMax),
    limit,
    ...(country !== null && { country }),
    ...(allowedDomains.length > 0 && { includeDomains: [...allowedDomains] }),
    ...(blockedDomains.length > 0 && { excludeDomains: [...blockedDomains] }),
    ...(read && { scrapeOptions: { formats: ['markdown'] } }),
  });
}

function prepared<T>(prepare: () => T): T | Failure {
  try {
    return prepare();
  } catch (error) {
    if (error instanceof FailureError) return error.failure;
    throw error;
  }
}

function pagesIn({ data }: JsonObject, charsMax: number): ServerSource[] {
  const hits = isObject(data) && Array.isArray(data.web) ? data.web.filter(isObject) : [];
  return hits.map((hit) => ({
    url: String(hit.url),
    title: String(hit.title ?? ''),
    quote: String(hit.markdown ?? hit.description ?? '').slice(0, charsMax),
    score: null,
    attributes: {},
    age: typeof hit.publishedDate === 'string' ? hit.publishedDate : null,
  }));
}

interface FoundPoint {
  id: string | number;
  score: number;
  payload?: JsonObject | null;
}

/** A crawled page is cited by its address, other passages as a file. */
function passageOf({ id, score, payload }: FoundPoint): ServerSource {
  const { text, ...attributes } = payload ?? {};
  const { url, title, filename, source, file_id: file } = attributes;
  const names = [filename, title, source, url].filter((name) => typeof name === 'string' && name !== '');
  return {
    url: typeof url === 'string' && /^https?:/i.test(url) ? url : null,
    title: String(names[0] ?? id),
    quote: (typeof text === 'string' ? text : JSON.stringify(attributes)).slice(0, passageCharsMax),
    fileId: typeof file === 'string' ? file : String(id),
    score,
    attributes,
    age: null,
  };
}
