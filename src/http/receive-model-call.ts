import type { Services } from '../inference/endpoints/services.ts';
import { readWishes } from '../inference/models/routing-wishes.ts';
import { readIdempotencyKey } from '../inference/spine/idempotency.ts';
import type { ModelCall } from '../inference/spine/model-call.ts';
import { refuse } from '../inference/spine/sink.ts';
import type { Failure } from '../kernel/failure.ts';
import type { Exchange } from './exchange.ts';
import { LoggedSink, logsBodiesOf } from './log-bodies.ts';
import { readJsonBody } from './read-body.ts';
import { type Multipart, readMultipart } from './read-multipart.ts';

/**
 * The headers and the body of a request that a model answers; null when it has been refused, or its caller has gone.
 * `readBody`: what of the request's meaning stands outside its body, put into it.
 */
export async function receiveModelCall(
  services: Services,
  exchange: Exchange,
  readBody?: (exchange: Exchange, body: Buffer) => Buffer | Failure,
): Promise<{ call: ModelCall; body: Buffer } | null> {
  const head = receiveHead(exchange);
  if (head === null) return null;
  const { server, telemetry } = services.snapshot().config;
  const received = await readJsonBody(exchange, server.body_limit);
  if (received === null) return null;
  const body = readBody !== undefined && Buffer.isBuffer(received) ? readBody(exchange, received) : received;
  if (Buffer.isBuffer(body)) {
    const { bodies } = telemetry.log;
    return { call: bodies === false ? head : logged(services, exchange, head, body, bodies), body };
  }
  refuse(head.sink, body, head.admitted.headers);
  return null;
}

/**
 * The same for an upload, whose files are on disk for as long as `handle` runs: they are removed on every path.
 * `filesMax`: beyond it the form is refused.
 */
export async function receiveUpload(
  services: Services,
  exchange: Exchange,
  filesMax: number,
  handle: (head: ModelCall, form: Multipart) => Promise<void>,
): Promise<void> {
  const head = receiveHead(exchange);
  if (head === null) return;
  const { server, telemetry } = services.snapshot().config;
  const full = await services.storage.mayKeep(head.principal.account);
  if (full !== null) return refuse(head.sink, full, head.admitted.headers);
  const bounds = { bodyBytes: server.upload_limit, files: filesMax };
  const form = await readMultipart(exchange, services.spool, bounds);
  if (form === null) return;
  if ('kind' in form) return refuse(head.sink, form, head.admitted.headers);
  const { bodies } = telemetry.log;
  try {
    await handle(bodies === false ? head : logged(services, exchange, head, null, bodies), form);
  } finally {
    await form.release();
  }
}

/** For keys that `named` holds, with a sink that logs the bodies. */
function logged(
  services: Services,
  { path, response }: Exchange,
  head: ModelCall,
  body: Buffer | null,
  named: readonly string[],
): ModelCall {
  const { principal, requestId, delivery } = head;
  if (!logsBodiesOf(principal, named)) return head;
  const write = services.logBodies;
  const wallMs = () => services.clock.wallMs();
  const sink = new LoggedSink(delivery, { requestId, path, principal, body, write, wallMs });
  response.once('close', () => sink.left());
  return { ...head, sink };
}

function receiveHead(exchange: Exchange): ModelCall | null {
  const delivery = exchange.client;
  const admitted = exchange.admitted!;
  const refused = (failure: Failure) => {
    refuse(delivery, failure, admitted.headers);
    return null;
  };
  const wishes = readWishes(exchange.request.headers);
  if ('kind' in wishes) return refused(wishes);
  const { headers } = exchange.request;
  const idempotencyKey = headers['idempotency-key'] === undefined ? null : readIdempotencyKey(headers);
  if (idempotencyKey !== null && typeof idempotencyKey === 'object') return refused(idempotencyKey);
  return {
    requestId: exchange.requestId,
    clientRequestId: exchange.clientRequestId,
    principal: exchange.principal!,
    admitted,
    delivery,
    client: delivery,
    sink: delivery,
    callerHeaders: exchange.request.headers,
    wishes,
    idempotencyKey,
    atMs: exchange.atMs,
    startedMs: exchange.startedMs,
  };
}
