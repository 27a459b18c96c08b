import { serverUnder } from '../../../books/auth/principal.ts';
import type { DataRule } from '../../../config/data-rules.ts';
import { FailureError, isFailure } from '../../../kernel/failure.ts';
import type { VectorEngine } from '../../../vectors/vector-engine.ts';
import type { ServeServices } from '../../spine/answer-cache.ts';
import { askVectors } from './ask-vectors.ts';
import { type VectorServices, vectorEndpoint } from './endpoint.ts';

/** A point of a collection. `topic`: its payload says it. */
export interface NearestPoint {
  score: number;
  topic: string | null;
}

/** The points that are nearest to texts, in their order; null: there is none. Rejects where it cannot search. */
export type NearestPoints = (
  collection: string,
  texts: readonly string[],
  rules: readonly DataRule[],
) => Promise<readonly (NearestPoint | null)[]>;

/** Searches `ACCOUNT/KEY/COLLECTION` for guards. The operator pays. */
export function createNearestPoints(
  services: ServeServices & VectorServices,
  engine: Pick<VectorEngine, 'prepare'>,
): NearestPoints {
  const endpoint = vectorEndpoint(services, engine);
  return async (place, texts, rules) => {
    if (texts.length === 0) return [];
    // The name of a key may have slashes.
    const behindKey = place.lastIndexOf('/');
    const owner = { principal: { ...serverUnder(rules), tenant: place.slice(0, behindKey) }, tag: 'guard' };
    const collection = place.slice(behindKey + 1);
    const body = { searches: texts.map((text) => ({ text, limit: 1, with_payload: ['topic'] })) };
    const question = { owner, verb: 'search-batch', params: { collection }, body, route: 'guard' } as const;
    const answer = await askVectors(services, endpoint, question);
    if (isFailure(answer) && answer.kind === 'rule-refused') throw new FailureError(answer);
    if (isFailure(answer)) throw new Error(`the collection cannot be searched (${answer.kind})`);
    return (
      answer.result as readonly (readonly { score: number; payload?: Readonly<Record<string, unknown>> | null }[])[]
    ).map(([point]) => {
      const topic = point?.payload?.topic;
      return point === undefined ? null : { score: point.score, topic: typeof topic === 'string' ? topic : null };
    });
  };
}
