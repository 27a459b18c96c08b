import type { Clock } from '../../kernel/clock.ts';
import type { CollectionSpec } from '../collection.ts';
import { payloadSelector } from '../filter/payload-select.ts';
import { valuesAt } from '../filter/reach.ts';
import { refuse } from '../filter/refuse.ts';
import type { ScoredPoint, StoredPoint, Want } from '../point.ts';
import { withLanguages } from '../text/languages.ts';
import type { CallEffect, Embedded, FoundTexts, Prepared, RankedText, VectorCall } from '../vector-engine.ts';
import { noCollection, noPoint } from '../vector-refusals.ts';
import type { Neighbours, Owner, PointGroup, VectorStore } from '../vector-store.ts';
import { lookUpGroups } from './group-lookups.ts';
import { type OpenedCall, openCall, type ReadLimits, readCall } from './read-call.ts';
import type { Rerank } from './read-rerank.ts';
import { checkWant } from './read-want.ts';
import { shortestFloat } from './shortest-float.ts';
import { shownInfo, shownPoint, shownPoints, shownScored, shownSpec } from './shown-collection.ts';
import type { Acknowledge, VectorRequest } from './vector-request.ts';
import { writeAnswer } from './write-vector-answer.ts';

/** A call that was found right. Holds nothing that must be given back. */
export interface PreparedCall extends Pick<Prepared, 'texts' | 'rerank' | 'effect'> {
  /** `embedded`: of `texts`, null where there are none. Once. Gives the answer's body; rejects with a FailureError. */
  run(embedded: Embedded | null): Promise<Uint8Array<ArrayBuffer> | UnrankedAnswer>;
}

/** Results of a call until they are ranked. */
export interface UnrankedAnswer {
  found: FoundTexts;
  /** Gives the answer's body. Throws a FailureError. */
  rank(ranked: readonly RankedText[]): Uint8Array<ArrayBuffer>;
}

/** Reads and checks a call; rejects with a FailureError: 400, 404, 501, or the store's. */
export async function prepareCall(
  store: VectorStore,
  call: VectorCall,
  { limits, clock }: { limits: ReadLimits; clock: Clock },
): Promise<PreparedCall> {
  const startedMs = clock.monotonicMs();
  const opened = openCall(call);
  const spec = await specOf(store, call.owner.tenant, opened);
  const { request, texts, fill, otherCollections } = await withLanguages(() => readCall(opened, spec, limits));
  if (spec !== null) for (const [want, at] of selectorsOf(request)) checkWant(spec, want, at);
  for (const name of otherCollections) {
    if ((await store.find(call.owner.tenant, name)) === null) throw noCollection(name);
  }
  const answerOf = (result: unknown) => writeAnswer(result, clock.monotonicMs() - startedMs);
  return {
    texts,
    rerank: request.kind === 'query' ? request.rerank : null,
    effect: effectOf(request),
    async run(embedded) {
      if (embedded !== null) fill(embedded);
      if (request.kind === 'query' && request.rerank !== null) {
        const candidates = await findCandidates(store, call.owner.tenant, request, request.rerank);
        // One that is too large is refused before anybody ranks it.
        const unranked = answerOf(candidates.inOrder([]));
        const { texts } = candidates;
        if (texts.length === 0) return unranked;
        // Bytes of texts as strings: two a character at most.
        const found = { texts, bytes: unranked.byteLength + 2 * texts.reduce((sum, text) => sum + text.length, 0) };
        return { found, rank: (ranked) => answerOf(candidates.inOrder(ranked)) };
      }
      return answerOf(await runRequest(store, call.owner, request));
    },
  };
}

/** Wanted parts of points, with the path of the member that asks for them. */
function selectorsOf(request: VectorRequest): [Want, string][] {
  switch (request.kind) {
    case 'retrieve':
      return [[request.want, '']];
    case 'scroll':
    case 'query':
    case 'groups':
      return [[request.query.want, '']];
    case 'queries':
      return request.queries.map(({ want }, i) => [want, `searches[${i}].`]);
    default:
      return [];
  }
}

function effectOf(request: VectorRequest): CallEffect {
  switch (request.kind) {
    case 'create':
      return 'adds';
    case 'write':
      return request.operations.some(({ kind }) => addingKinds.has(kind)) ? 'adds' : 'changes';
    case 'update':
    case 'drop':
    case 'change-aliases':
    case 'index':
      return 'changes';
    default:
      return 'reads';
  }
}

const addingKinds: ReadonlySet<string> = new Set(['upsert', 'set-payload', 'overwrite-payload', 'update-vectors']);

/** These answer for a collection that is not there, too. */
const needNoCollection: ReadonlySet<string> = new Set(['put-collection', 'delete-collection', 'collection-exists']);

/** Looked at first, so that one that is not there, or is another tenant's, is answered the same by every verb. */
async function specOf(store: VectorStore, tenant: string, call: OpenedCall): Promise<CollectionSpec | null> {
  const { collection, verb } = call;
  if (collection === null || needNoCollection.has(verb)) return null;
  const spec = await store.find(tenant, collection);
  if (spec !== null) return spec;
  throw noCollection(collection);
}

/** Characters of the texts that one call has ranked. */
const textCharsMax = 8_000_000;

/**
 * Points that a query found, for a rerank model to say their order. Rejects with a FailureError: the store's, or a 400
 * for too much text.
 */
async function findCandidates(
  store: VectorStore,
  tenant: string,
  { collection, query, form }: Extract<VectorRequest, { kind: 'query' }>,
  { textKey, top }: Rerank,
) {
  const { payload } = query.want;
  const want = { ...query.want, payload: withKey(payload, textKey.text) };
  const [points = []] = await store.query(tenant, collection, [{ ...query, want }]);
  const worded: ScoredPoint[] = [];
  const texts: string[] = [];
  for (const point of points) {
    const [text] = valuesAt(point.payload ?? null, textKey.steps);
    if (typeof text !== 'string' || text.trim() === '') continue;
    worded.push(point);
    texts.push(text);
  }
  const chars = texts.reduce((sum, text) => sum + text.length, 0);
  if (chars > textCharsMax) {
    refuse(
      'limit',
      `the texts of these points have ${chars} characters, but a call reranks at most ${textCharsMax}; lower it`,
    );
  }
  const select = payloadSelector(payload);
  const shown = ({ payload: whole, ...rest }: ScoredPoint, score: number) => {
    const point = select === null ? rest : { ...rest, payload: whole == null ? null : select(whole) };
    return { ...shownScored(point), score, original_score: shortestFloat(point.score) };
  };
  return {
    /** Texts of the points that have one, in the order in which they were found. */
    texts,
    /** The answer's `result`. `ranked`: of `texts`; points without a rank come last, as they were found. */
    inOrder(ranked: readonly RankedText[]): unknown {
      const best = [...ranked].sort((a, b) => b.score - a.score);
      const ranks = best.flatMap(({ index, score }) => (worded[index] ? [{ point: worded[index], score }] : []));
      const first = new Set(ranks.map(({ point }) => point));
      // Clients want a number, and an order by it that is the answer's.
      const lastScore = Math.min(0, best.at(-1)?.score ?? 0);
      const all = [
        ...ranks.map(({ point, score }) => shown(point, score)),
        ...points.filter((point) => !first.has(point)).map((point) => shown(point, lastScore)),
      ];
      return shownPoints(top === null ? all : all.slice(0, top), form);
    },
  };
}

/** The wanted parts, and the text. */
function withKey(want: Want['payload'], key: string): Want['payload'] {
  if (want === false) return { include: [key] };
  return want !== true && 'include' in want ? { include: [...want.include, key] } : true;
}

/**
 * Does a checked request whose vectors are all there, and gives the `result` of its answer, ready for JSON. Rejects
 * with the store's FailureError.
 */
async function runRequest(store: VectorStore, owner: Owner, request: VectorRequest): Promise<unknown> {
  const { tenant } = owner;
  switch (request.kind) {
    case 'list':
      return { collections: (await store.list(tenant)).map(shownSpec) };
    case 'create':
      await store.create(owner, request.spec);
      return request.form === 'qdrant' ? true : shownSpec(request.spec);
    case 'inspect':
      return shownInfo(await store.inspect(tenant, request.collection));
    case 'update':
      await store.configure(tenant, request.collection, request.change);
      return true;
    case 'drop':
      return store.drop(tenant, request.collection);
    case 'exists':
      return { exists: (await store.find(tenant, request.collection)) !== null };
    case 'aliases': {
      const aliases = await store.aliases(tenant, request.collection);
      return { aliases: aliases.map(({ alias, collection }) => ({ alias_name: alias, collection_name: collection })) };
    }
    case 'change-aliases':
      await store.changeAliases(tenant, request.changes);
      return true;
    case 'index': {
      const { collection, key, type, acknowledge } = request;
      return updateResult(await store.indexPayload(tenant, collection, key, type, request.params), acknowledge);
    }
    case 'write': {
      const { operations, acknowledge } = request;
      const last = await store.write(tenant, request.collection, operations);
      if (request.form === 'one') return updateResult(last, acknowledge);
      return operations.map((_, i) => updateResult(last - operations.length + 1 + i, acknowledge));
    }
    case 'get': {
      const [point] = await store.retrieve(tenant, request.collection, [request.id], request.want);
      if (point !== undefined) return shownPoint(point);
      throw noPoint(request.id);
    }
    case 'retrieve':
      return (await store.retrieve(tenant, request.collection, request.ids, request.want)).map(shownPoint);
    default:
      return search(store, tenant, request);
  }
}

type Search = Extract<
  VectorRequest,
  { kind: 'query' | 'queries' | 'groups' | 'matrix' | 'scroll' | 'count' | 'facet' }
>;

async function search(store: VectorStore, tenant: string, request: Search): Promise<unknown> {
  const { collection } = request;
  switch (request.kind) {
    case 'query': {
      const [points = []] = await store.query(tenant, collection, [request.query]);
      return shownPoints(points.map(shownScored), request.form);
    }
    case 'queries': {
      const lists = await store.query(tenant, collection, request.queries);
      return lists.map((points) => shownPoints(points.map(shownScored), request.form));
    }
    case 'groups': {
      const groups = await store.queryGroups(tenant, collection, request.query);
      const { lookup } = request;
      const found = lookup === null ? null : await lookUpGroups(store, tenant, lookup, groups);
      return { groups: groups.map((group) => shownGroup(group, found?.get(group.id))) };
    }
    case 'matrix': {
      const found = await store.neighbours(tenant, collection, request.matrix);
      return request.form === 'pairs' ? matrixPairs(found) : matrixOffsets(found);
    }
    case 'scroll': {
      const { points, next } = await store.scroll(tenant, collection, request.query);
      const shown = points.map(({ orderValue, ...point }) =>
        orderValue === undefined ? shownPoint(point) : { ...shownPoint(point), order_value: orderValue },
      );
      return { points: shown, next_page_offset: next };
    }
    case 'count':
      return { count: await store.count(tenant, collection, request.filter) };
    case 'facet':
      return { hits: await store.facet(tenant, collection, request.query) };
  }
}

function shownGroup({ id, hits }: PointGroup, lookup: StoredPoint | undefined): object {
  return { id, hits: hits.map(shownScored), ...(lookup !== undefined && { lookup: shownPoint(lookup) }) };
}

function updateResult(operation: number, acknowledge: Acknowledge): object {
  return { operation_id: operation, status: acknowledge };
}

/** Answer of Qdrant's `matrix/pairs`. */
function matrixPairs({ ids, nearest }: Neighbours) {
  return {
    pairs: nearest.flatMap((of, row) =>
      of.map(({ id, score }) => ({ a: ids[row], b: id, score: shortestFloat(score) })),
    ),
  };
}

/** Answer of Qdrant's `matrix/offsets`: the same as a sparse matrix whose rows and columns are `ids`. */
function matrixOffsets({ ids, nearest }: Neighbours) {
  const offsetOf = new Map(ids.map((id, offset) => [id, offset]));
  return {
    offsets_row: nearest.flatMap((found, row) => found.map(() => row)),
    offsets_col: nearest.flatMap((found) => found.map(({ id }) => offsetOf.get(id))),
    scores: nearest.flatMap((found) => found.map(({ score }) => shortestFloat(score))),
    ids,
  };
}
