import type { Clock } from '../../kernel/clock.ts';
import type { CollectionSpec } from '../collection.ts';
import type { CallEffect, Embedded, TextsToEmbed, VectorCall } from '../engine.ts';
import { noCollection } from '../refusals.ts';
import type { VectorStore } from '../store.ts';
import { type OpenedCall, openCall, type ReadLimits, readCall } from './read-call.ts';
import { runRequest } from './run-request.ts';
import type { VectorRequest } from './vector-request.ts';
import { writeAnswer } from './write-answer.ts';

/** A call that was found right. Holds nothing that must be given back. */
export interface PreparedCall {
  /** What must be embedded before `run`; null for most calls. */
  texts: TextsToEmbed | null;
  effect: CallEffect;
  /** `embedded`: of `texts`, null where there are none. Once. Gives the answer's body; rejects with a FailureError. */
  run(embedded: Embedded | null): Promise<Uint8Array<ArrayBuffer>>;
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
  const { request, texts, fill } = readCall(opened, spec, limits);
  return {
    texts,
    effect: effectOf(request),
    async run(embedded) {
      if (embedded !== null) fill(embedded);
      const result = await runRequest(store, call.owner, request);
      return writeAnswer(result, clock.monotonicMs() - startedMs);
    },
  };
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
