import type { Clock } from '../../kernel/clock.ts';
import type { CollectionSpec } from '../collection.ts';
import type { Want } from '../point.ts';
import { withLanguages } from '../text/languages.ts';
import type {
  CallEffect,
  Embedded,
  FoundTexts,
  RankedText,
  Reranking,
  TextsToEmbed,
  VectorCall,
} from '../vector-engine.ts';
import { noCollection } from '../vector-refusals.ts';
import type { VectorStore } from '../vector-store.ts';
import { findCandidates } from './candidates.ts';
import { type OpenedCall, openCall, type ReadLimits, readCall } from './read-call.ts';
import { checkWant } from './read-want.ts';
import { runRequest } from './run-request.ts';
import type { VectorRequest } from './vector-request.ts';
import { writeAnswer } from './write-vector-answer.ts';

/** A call that was found right. Holds nothing that must be given back. */
export interface PreparedCall {
  /** Texts to embed before `run`; null for most calls. */
  texts: TextsToEmbed | null;
  /** The model that ranks the results; null for most calls. */
  rerank: Reranking | null;
  effect: CallEffect;
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
