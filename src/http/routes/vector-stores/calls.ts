import type { StoreCounts, StoreFileStatus } from '../../../books/metering/vector-store-rows.ts';
import { attributeKey } from '../../../inference/families/vectors/search-files.ts';
import { refusedFilter, vectorFilter } from '../../../inference/server-tools/file-filter.ts';
import type { FoundPassage, PassageSearch, Passages, StoreCaller } from '../../../inference/vector-stores/passages.ts';
import type { StoreFile, VectorStore } from '../../../inference/vector-stores/store-facts.ts';
import type { StoreBatch } from '../../../inference/vector-stores/store-reads.ts';
import type { VectorStores } from '../../../inference/vector-stores/vector-stores.ts';
import { allRead, type Failure, failureIn, invalidField, isFailure } from '../../../kernel/failure.ts';
import { isObject, isWhole, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { callerOf } from '../../exchange.ts';
import { writeJson } from '../../write-json.ts';
import { listOf, oneOf } from '../list-page.ts';
import type { StoredCall } from '../stored-route.ts';
import { attributesOf, changedFacts, fileOf, filesOfBatch, listPageOf, newStoreOf } from './store-fields.ts';

export interface VectorStoreCallsParts extends SearchParts {
  /** Alias of the embedding model, where a caller names none. */
  model(): string;
}

type Call = (call: StoredCall) => Promise<JsonObject | Failure | null>;
export type VectorStoreCalls = ReturnType<typeof vectorStoreCalls>;

const statuses: readonly StoreFileStatus[] = ['in_progress', 'completed', 'failed', 'cancelled'];

/** Answers of each route of vector stores, in OpenAI's words. */
export function vectorStoreCalls(parts: VectorStoreCallsParts) {
  return { ...storeCalls(parts), ...fileCalls(parts), ...batchCalls(parts) };
}

function storeCalls(parts: VectorStoreCallsParts) {
  const { stores, model } = parts;
  return {
    async create(call) {
      const read = newStoreOf(call.body);
      if (isFailure(read)) return read;
      return shownStore(await stores.create(callOf(call), read.facts, read.model ?? model(), read.files));
    },
    async list({ tenant, query }) {
      const page = listPageOf(query, 'vs_');
      if (isFailure(page)) return page;
      const found = await stores.list(tenant, { ...page, limit: page.limit + 1 });
      return pageOf(found.map(shownStore), page);
    },
    async find({ tenant, params }) {
      return shownStore(await stores.store(tenant, params.id ?? ''));
    },
    async change({ tenant, params, body }) {
      const changed = changedFacts(body);
      return isFailure(changed) ? changed : shownStore(await stores.change(tenant, params.id ?? '', changed));
    },
    async remove(call) {
      const id = call.params.id ?? '';
      await stores.remove(callOf(call), id);
      return { id, object: 'vector_store.deleted', deleted: true };
    },
    search: (call) => searchStore(parts, call, callOf(call)),
  } satisfies Record<string, Call>;
}

function fileCalls({ stores, passages }: VectorStoreCallsParts) {
  return {
    async attach(call) {
      const file = fileOf(call.body);
      return isFailure(file) ? file : shownFile(await stores.attach(callOf(call), call.params.id ?? '', file));
    },
    listFiles: (call) => listFiles(stores, call, null),
    async findFile(call) {
      const { tenant, params } = call;
      return polled(call, shownFile(await stores.file(tenant, params.id ?? '', params.file ?? '')));
    },
    async changeFile(call) {
      const { params, body } = call;
      const read = attributesOf(body.attributes, 'attributes');
      if (isFailure(read)) return read;
      const { id = '', file = '' } = params;
      return shownFile(await stores.changeAttributes(callOf(call), id, file, read.attributes));
    },
    async removeFile(call) {
      const { id = '', file = '' } = call.params;
      await stores.removeFile(callOf(call), id, file);
      return { id: file, object: 'vector_store.file.deleted', deleted: true };
    },
    async content(call) {
      const found = await stores.file(call.tenant, call.params.id ?? '', call.params.file ?? '');
      const texts = await passages.content(callOf(call), found);
      const data = texts.map((text) => ({ type: 'text', text }));
      return { object: 'vector_store.file_content.page', data, has_more: false, next_page: null };
    },
  } satisfies Record<string, Call>;
}

function batchCalls({ stores }: VectorStoreCallsParts) {
  return {
    async attachBatch(call) {
      const files = filesOfBatch(call.body);
      if (isFailure(files)) return files;
      const param = call.body.files == null ? 'file_ids' : 'files';
      return shownBatch(await stores.attachBatch(callOf(call), call.params.id ?? '', files, param));
    },
    async findBatch(call) {
      const { tenant, params } = call;
      return polled(call, shownBatch(await stores.batch(tenant, params.id ?? '', params.batch ?? '')));
    },
    async cancelBatch(call) {
      const { params } = call;
      return shownBatch(await stores.cancelBatch(callOf(call), params.id ?? '', params.batch ?? ''));
    },
    async listBatchFiles(call) {
      const { id } = await stores.batch(call.tenant, call.params.id ?? '', call.params.batch ?? '');
      return listFiles(stores, call, id);
    },
  } satisfies Record<string, Call>;
}

/** Without this, OpenAI's clients look again after 5 s; most files are read within one. */
const pollMs = 250;

/** Answers what is still at work, with the time after which a client is to look again. Null: it was answered. */
function polled({ exchange }: StoredCall, shown: JsonObject): JsonObject | null {
  if (shown.status !== 'in_progress') return shown;
  writeJson(exchange, 200, shown, [...(exchange.admitted?.headers ?? []), 'openai-poll-after-ms', String(pollMs)]);
  return null;
}

async function listFiles(
  stores: VectorStores,
  { tenant, params, query }: StoredCall,
  batch: string | null,
): Promise<JsonObject | Failure> {
  const page = listPageOf(query, 'file-');
  if (isFailure(page)) return page;
  const status = oneOf(query, 'filter', statuses);
  if (isFailure(status)) return status;
  const of = { store: params.id ?? '', batch, status };
  const found = await stores.listFiles(tenant, of, { ...page, limit: page.limit + 1 });
  return pageOf(found.map(shownFile), page);
}

/** Page of a list. Before an id, the row too many is the first. */
function pageOf(found: readonly JsonObject[], { limit, before }: { limit: number; before: string | null }): JsonObject {
  if (before === null || found.length <= limit) return listOf(found, limit);
  return { ...listOf(found.slice(-limit), limit), has_more: true };
}

function callOf({ exchange }: StoredCall): StoreCaller {
  return { principal: callerOf(exchange), requestId: exchange.requestId };
}

function shownStore(store: VectorStore): JsonObject {
  const { id, name, description, metadata, expiresAfterDays, createdMs, activeMs, expiresMs, counts, status } = store;
  return {
    id,
    object: 'vector_store',
    created_at: secondsOf(createdMs),
    name,
    description,
    usage_bytes: counts.bytes,
    file_counts: countsOf(counts),
    status,
    expires_after: expiresAfterDays === null ? null : { anchor: 'last_active_at', days: expiresAfterDays },
    expires_at: expiresMs === null ? null : secondsOf(expiresMs),
    last_active_at: secondsOf(activeMs),
    metadata: metadata ?? {},
  };
}

function shownFile({ file, store, createdMs, status, bytes, attributes, chunking, error }: StoreFile): JsonObject {
  return {
    id: file,
    object: 'vector_store.file',
    created_at: secondsOf(createdMs),
    vector_store_id: store,
    status,
    usage_bytes: bytes,
    last_error: error === null ? null : { ...error },
    attributes: { ...attributes },
    chunking_strategy: {
      type: 'static',
      static: { max_chunk_size_tokens: chunking.sizeTokens, chunk_overlap_tokens: chunking.overlapTokens },
    },
  };
}

function shownBatch({ id, store, createdMs, cancelledMs, counts }: StoreBatch): JsonObject {
  const { total } = countsOf(counts);
  const isFailed = counts.failed > 0 && counts.failed === total;
  const ended = cancelledMs !== null ? 'cancelled' : isFailed ? 'failed' : 'completed';
  return {
    id,
    object: 'vector_store.files_batch',
    created_at: secondsOf(createdMs),
    vector_store_id: store,
    status: counts.in_progress > 0 ? 'in_progress' : ended,
    file_counts: countsOf(counts),
  };
}

function countsOf({ in_progress, completed, failed, cancelled }: StoreCounts) {
  return { in_progress, completed, failed, cancelled, total: in_progress + completed + failed + cancelled };
}

function secondsOf(ms: number): number {
  return Math.floor(ms / 1_000);
}

interface SearchParts {
  stores: VectorStores;
  passages: Passages;
}

const resultsMax = 50;
const queriesMax = 10;
const queryCharsMax = 4_096;
const rankers = ['auto', 'none', 'default-2024-11-15'];

/**
 * Answers with the passages of a store that are nearest to the queries: a header names the field that was left out. A
 * failure is not answered.
 */
async function searchStore(
  { stores, passages }: SearchParts,
  { tenant, params, body, exchange }: StoredCall,
  caller: StoreCaller,
): Promise<Failure | null> {
  const read = searchOf(body);
  if (isFailure(read)) return read;
  const { queries, ...searchOptions } = read;
  const store = await stores.usable(tenant, params.id ?? '');
  await stores.touch(store);
  const found: FoundPassage[] = [];
  try {
    for (const query of queries) found.push(...(await passages.search(caller, store.id, { ...searchOptions, query })));
  } catch (error) {
    return refusedFilter(failureIn(error), 'filters');
  }
  const answer = {
    object: 'vector_store.search_results.page',
    search_query: queries,
    data: best(found, read.resultsMax).map(({ file, name, score, attributes, text }) => ({
      file_id: file,
      filename: name,
      score,
      attributes: { ...attributes },
      content: [{ type: 'text', text }],
    })),
    has_more: false,
    next_page: null,
  };
  const dropped = body.rewrite_query === true ? ['x-culvert-dropped', 'rewrite_query'] : [];
  writeJson(exchange, 200, answer, [...(exchange.admitted?.headers ?? []), ...dropped]);
  return null;
}

/** A passage that several queries found counts once, with its best score. */
function best(found: readonly FoundPassage[], most: number): FoundPassage[] {
  const ordered = found.toSorted((one, other) => other.score - one.score);
  const seen = new Set<string>();
  const once = ordered.filter(({ file, text }) => {
    const name = `${file}\n${text}`;
    if (seen.has(name)) return false;
    seen.add(name);
    return true;
  });
  return once.slice(0, most);
}

type Search = Omit<PassageSearch, 'query'> & { queries: string[] };

function searchOf(body: JsonObject): Search | Failure {
  const { query, max_num_results: most = 10, filters, ranking_options: options } = body;
  const fits = isWhole(most, 1, resultsMax);
  return allRead<Search>({
    queries: queriesOf(query),
    resultsMax: fits ? most : invalidField('max_num_results', `must be a whole number from 1 to ${resultsMax}`),
    filter: filterOf(filters),
    scoreMin: scoreOf(options),
  });
}

function queriesOf(query: JsonValue | undefined): string[] | Failure {
  const all = typeof query === 'string' ? [query] : query;
  const fits =
    Array.isArray(all) &&
    all.length >= 1 &&
    all.length <= queriesMax &&
    all.every((one) => typeof one === 'string' && one.trim() !== '' && one.length <= queryCharsMax);
  if (fits) return all as string[];
  return invalidField(
    'query',
    `must be a text of at most ${queryCharsMax} characters, or a list of at most ${queriesMax}`,
  );
}

function filterOf(filters: JsonValue | undefined): JsonObject | Failure | null {
  if (filters == null) return null;
  return isObject(filters)
    ? vectorFilter(filters, 'filters', attributeKey)
    : invalidField('filters', 'must be an object');
}

/** Least score; null: any. */
function scoreOf(options: JsonValue | undefined): number | Failure | null {
  if (options == null) return null;
  if (!isObject(options)) return invalidField('ranking_options', 'must be an object');
  const { ranker, score_threshold: least } = options;
  if (ranker != null && !rankers.includes(ranker as string))
    return invalidField('ranking_options.ranker', `must be one of ${rankers.join(', ')}`);
  if (least == null) return null;
  if (typeof least === 'number' && least >= 0 && least <= 1) return least === 0 ? null : least;
  return invalidField('ranking_options.score_threshold', 'must be a number from 0 to 1');
}
