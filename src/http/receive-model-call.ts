import { readIdempotencyKey } from '../inference/pipeline/idempotency.ts';
import type { ModelCall } from '../inference/pipeline/model-call.ts';
import { readWishes } from '../inference/pipeline/routing-wishes.ts';
import type { Services } from '../inference/pipeline/services.ts';
import type { Failure } from '../kernel/failure.ts';
import type { Exchange } from './exchange.ts';
import { readJsonBody } from './read-body.ts';
import { ResponseCaller } from './write-stream.ts';

/**
 * The headers and the body of a request that a model answers; null when it has been refused, or its caller has gone.
 * `readBody`: what of the request's meaning stands outside its body, put into it.
 */
export async function receiveModelCall(
  services: Services,
  exchange: Exchange,
  readBody?: (exchange: Exchange, body: Buffer) => Buffer | Failure,
): Promise<Omit<ModelCall, 'endpoint'> | null> {
  const caller = new ResponseCaller(exchange, services.clock);
  const admitted = exchange.admitted!;
  const refuse = (failure: Failure) => {
    caller.refuse(failure, admitted.headers);
    return null;
  };
  const wishes = readWishes(exchange.request.headers);
  if ('kind' in wishes) return refuse(wishes);
  const idempotencyKey = readIdempotencyKey(exchange.request.headers);
  if (idempotencyKey !== null && typeof idempotencyKey === 'object') return refuse(idempotencyKey);
  const received = await readJsonBody(exchange, services.snapshot().config.server.body_limit);
  if (received === null) return null;
  const body = readBody !== undefined && Buffer.isBuffer(received) ? readBody(exchange, received) : received;
  if (!Buffer.isBuffer(body)) return refuse(body);
  return {
    requestId: exchange.requestId,
    clientRequestId: exchange.clientRequestId,
    principal: exchange.principal!,
    admitted,
    body,
    caller,
    callerHeaders: exchange.request.headers,
    wishes,
    idempotencyKey,
    atMs: exchange.atMs,
    startedMs: exchange.startedMs,
  };
}
