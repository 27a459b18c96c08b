import type { Asked, Endpoint, Plan } from './endpoint.ts';
import type { ModelCall } from './model-call.ts';
import type { RequestBody } from './request-body.ts';
import type { SpineServices } from './services.ts';

/** Answers of equal requests. A request enters it only where its model has `cache`, or its caller names the cache. */
export interface AnswerCache {
  /** Between plan and reservation: answers from what is kept, or says how the request goes on. */
  enter<I, R extends RequestBody, P extends Plan>(
    services: SpineServices,
    endpoint: Endpoint<I, R, P>,
    asked: Asked<R, P>,
    input: I,
  ): Promise<CacheTurn<P>>;
  /** Requests that wait for an equal one. */
  waiting(): number;
}

/** `answered`: nothing is left to do. Otherwise the request as it goes on; `end` is called once it has ended. */
export type CacheTurn<P> = 'answered' | { call: ModelCall; plan: P; end(): void };

/** What a request of a family is served with. */
export interface ServeServices extends SpineServices {
  cache: AnswerCache;
}
