import { FailureError } from '../src/kernel/failure.ts';
import { factsOf } from '../src/kernel/failure-facts.ts';
import type { CollectionSpec } from '../src/vectors/collection.ts';
import type { VectorCall } from '../src/vectors/vector-engine.ts';
import type { VectorStore } from '../src/vectors/vector-store.ts';
import type { VectorVerb } from '../src/vectors/verbs.ts';
import { openCall, type ReadCall, readCall } from '../src/vectors/wire/read-call.ts';

/** Four numbers a vector, no model of its own. */
export const plainSpec: CollectionSpec = { name: 'plain', size: 4, distance: 'Cosine', embeddingModel: null };
/** Embeds its own texts. */
export const textSpec: CollectionSpec = { name: 'docs', size: 4, distance: 'Cosine', embeddingModel: 'alpha' };

export interface CallParts {
  params?: VectorCall['params'];
  search?: string;
}

/** A call of tenant `t` with `body` as JSON, or as these very bytes. */
export function vectorCall(verb: VectorVerb, body: unknown, { params, search = '' }: CallParts = {}): VectorCall {
  return {
    owner: { tenant: 't', account: 'a' },
    verb,
    params: params ?? {},
    search,
    body: body instanceof Uint8Array ? body : new TextEncoder().encode(JSON.stringify(body)),
  };
}

/** Status and message of the failure that `act` throws; fails when it does not. */
export function refusalOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return shownFailure(error);
  }
  throw new Error('nothing was refused');
}

export function shownFailure(error: unknown): string {
  if (!(error instanceof FailureError)) throw error;
  const { status, message } = factsOf(error.failure, 0);
  return `${status} ${message}`;
}

/** A store that answers with `answers` alone, and records its calls in `calls`. */
export function scriptedStore(answers: Partial<VectorStore>): { store: VectorStore; calls: unknown[][] } {
  const calls: unknown[][] = [];
  const store = new Proxy(answers, {
    get:
      (_, method: keyof VectorStore) =>
      async (...given: unknown[]) => {
        calls.push([method, ...given]);
        const answer = answers[method] as ((...given: unknown[]) => unknown) | undefined;
        if (answer === undefined) throw new Error(`${method} is not scripted`);
        return answer(...given);
      },
  });
  return { store: store as VectorStore, calls };
}

/** Reads a call about a collection of `spec`. */
export function readFor(spec: CollectionSpec, verb: VectorVerb, body: unknown, parts: CallParts = {}): ReadCall {
  const call = vectorCall(verb, body, { ...parts, params: { collection: spec.name, ...parts.params } });
  return readCall(openCall(call), spec, { pointsPerCall: 10 });
}
