import type { CallerDialect } from '../../inference/dialects/dialect.ts';
import { type ConversationEndpoint, runChat } from '../../inference/pipeline/chat.ts';
import { readIdempotencyKey } from '../../inference/pipeline/idempotency.ts';
import { readWishes } from '../../inference/pipeline/routing-wishes.ts';
import type { Services } from '../../inference/pipeline/services.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { LimitHeaderForm } from '../../metering/admission.ts';
import type { Exchange, Route } from '../exchange.ts';
import { readJsonBody } from '../read-body.ts';
import { ResponseCaller } from '../write-stream.ts';

/** Where a conversation is held, and in whose format. */
export interface ConversationPlace {
  path: string;
  endpoint: ConversationEndpoint;
  dialect: CallerDialect;
  limitForm: LimitHeaderForm;
  /** What of the request's meaning stands outside its body, put into it. */
  readBody?: (exchange: Exchange, body: Buffer) => Buffer | Failure;
}

/** A POST that any model answers, whatever its provider speaks. */
export function conversationRoute(
  services: Services,
  { path, endpoint, dialect, limitForm, readBody }: ConversationPlace,
): Route {
  return {
    method: 'POST',
    path,
    auth: 'key',
    quota: 'one',
    limitForm,
    validator: endpoint,
    dialect,
    async handle(exchange) {
      const caller = new ResponseCaller(exchange, services.clock);
      const admitted = exchange.admitted!;
      const wishes = readWishes(exchange.request.headers);
      if ('kind' in wishes) return caller.refuse(wishes, admitted.headers);
      const idempotencyKey = readIdempotencyKey(exchange.request.headers);
      if (idempotencyKey !== null && typeof idempotencyKey === 'object')
        return caller.refuse(idempotencyKey, admitted.headers);
      const received = await readJsonBody(exchange, services.snapshot().config.server.body_limit);
      if (received === null) return;
      const body = readBody !== undefined && Buffer.isBuffer(received) ? readBody(exchange, received) : received;
      if (!Buffer.isBuffer(body)) return caller.refuse(body, admitted.headers);
      await runChat(services, {
        requestId: exchange.requestId,
        clientRequestId: exchange.clientRequestId,
        endpoint,
        dialect: dialect.id,
        principal: exchange.principal!,
        admitted,
        body,
        caller,
        callerHeaders: exchange.request.headers,
        wishes,
        idempotencyKey,
        atMs: exchange.atMs,
        startedMs: exchange.startedMs,
      });
    },
  };
}
