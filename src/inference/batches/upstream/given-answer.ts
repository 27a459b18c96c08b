import { isFailure } from '../../../kernel/failure.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import { createHealth } from '../../../routing/health.ts';
import type { Transport } from '../../../upstream/transport/upstream-call.ts';
import type { Services } from '../../endpoints/services.ts';
import { lineEndpoints, type RunLine } from '../line-endpoints.ts';
import { planForAnswer } from './pinned-plan.ts';

/** An answer that a provider's batch gave to a line. */
export interface GivenAnswer {
  /** `provider/model`. */
  target: string;
  /** The one that has what the answer names at the provider. */
  credential: string;
  /** Part of the usual price. */
  share: number;
  /** The batch there, for the explanation of the request. */
  batch: string;
  body: Buffer;
}

/**
 * Serves a line as if its target had answered so right now: it is converted, charged and explained like every other
 * request. No call is made.
 */
export function givenAnswers(services: Services): (path: string, given: GivenAnswer) => RunLine {
  const { clock } = services;
  // What the provider's batch answered says nothing of how its other API fares, nor the other way round.
  const health = createHealth({ clock });
  return (path, { batch, body, ...answeredBy }) => {
    return (usual, owner, sent, bounds) => {
      const all: Services = { ...usual, health, transport: answering(usual.transport, body) };
      const endpoints = lineEndpoints(all, (inner) => ({
        ...inner,
        async plan(snapshot, planned, request) {
          const plan = await inner.plan(snapshot, planned, request);
          return isFailure(plan) ? plan : planForAnswer(plan, answeredBy);
        },
      }));
      return knownEntry(endpoints, path)(all, owner, sent, { ...bounds, batched: { answeredBy: batch } });
    };
  };
}

/** Answers whatever is sent with this body. */
function answering(transport: Transport, body: Buffer): Transport {
  return {
    ...transport,
    send(_request, observer) {
      let isLeft = false;
      setImmediate(() => {
        if (!isLeft)
          observer.headers(200, {
            names: () => [],
            get: (name) => (name === 'content-type' ? 'application/json' : undefined),
          });
        if (!isLeft) observer.data(body);
        if (!isLeft) observer.ended();
      });
      return {
        abort() {
          isLeft = true;
        },
        pause() {},
        resume() {},
      };
    },
  };
}
