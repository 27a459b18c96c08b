import type { DataRule } from '../../config/data-rules.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { Alias } from '../models/alias.ts';
import type { Snapshot } from '../models/snapshot.ts';
import type { Canonical } from '../models/steps.ts';
import type { CachedForm, Endpoint, Plan, PlannedRequest } from './endpoint.ts';
import type { ModelCall } from './model-call.ts';
import type { RequestBody, RequestFacts } from './request-body.ts';
import type { SpineServices } from './services.ts';
import type { WorkCache } from './work.ts';

/** Answers of equal requests. A request enters it only where its model has `cache`, or its caller names the cache. */
export interface AnswerCache extends WorkCache {
  /** Between plan and reservation: answers from what is kept, or says how the request goes on. */
  enter<I, R extends RequestBody, P extends Plan>(
    services: SpineServices,
    endpoint: Endpoint<I, R, P>,
    planned: PlannedRequest<R, P>,
    input: I,
  ): Promise<CacheTurn<P>>;
  /** Result that a request would have now, without a trace in metrics. */
  explain(question: CacheQuestion): Promise<CacheExplained>;
  /** Requests that wait for an equal one. */
  waiting(): number;
  /** Hits of semantic caches that this process checked, by model. */
  checked(): ReadonlyMap<string, CheckedHits>;
}

export interface CheckedHits {
  checked: number;
  /** Number of them where the model said something else. */
  wrong: number;
}

export interface CacheQuestion extends Pick<ModelCall, 'principal' | 'preferences' | 'callerHeaders'> {
  snapshot: Snapshot;
  alias: Alias;
  targets: Plan['query']['targets'];
  endpoint: string;
  /** Null: its answer may not be kept. */
  form: CachedForm | null;
  facts: Pick<RequestFacts, 'stream'>;
  /** Null: nobody can say what the request has in common with others. */
  canonical: Canonical | null;
}

export interface CacheExplained {
  /** `bypass`: the request goes around the cache. */
  outcome: 'hit' | 'miss' | 'bypass';
  /** Seconds since a hit was asked; null: it is none. */
  ageS: number | null;
  /** Fields in which the nearest request differs that this process kept; null: it knows none, or it is no miss. */
  differs: readonly string[] | null;
}

/**
 * `answered`: nothing is left to do. Otherwise the request as it goes on; `end` is called once it has ended. `refused`: why no
 * model was asked; null: one was.
 */
export type CacheTurn<P> = 'answered' | { call: ModelCall; plan: P; end(refused: Failure | null): void };

/** Services for the requests of a family. */
export interface ServeServices extends SpineServices {
  cache: AnswerCache;
  /** For rules that classify requests. */
  inner(): Promise<Pick<InnerCalls, 'embed'>>;
}

/** Calls of this server's models, which the operator pays: no key, no limit, the account `(server)`. */
export interface InnerCalls {
  /** Vectors, one for each text; null: not within `ms`, or there is none. */
  embed(
    model: string,
    texts: readonly string[],
    ms: number,
    rules?: readonly DataRule[],
  ): Promise<readonly (readonly number[])[] | null>;
  /** True if a model finds that both answers say the same; null: it does not say. */
  judge(model: string, question: string, answers: readonly [string, string]): Promise<boolean | null>;
}
