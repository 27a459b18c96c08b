import { openAiChat } from '../../inference/dialects/openai-chat/index.ts';
import { runChat } from '../../inference/pipeline/chat.ts';
import { readIdempotencyKey } from '../../inference/pipeline/idempotency.ts';
import { readWishes } from '../../inference/pipeline/routing-wishes.ts';
import type { Services } from '../../inference/pipeline/services.ts';
import type { Route } from '../exchange.ts';
import { readJsonBody } from '../read-body.ts';
import { ResponseCaller } from '../write-stream.ts';

/** `POST /v1/chat/completions`: any model, whatever provider answers. */
export function chatRoute(services: Services): Route {
  return {
    method: 'POST',
    path: '/v1/chat/completions',
    auth: 'key',
    quota: 'one',
    validator: 'chat',
    dialect: openAiChat,
    async handle(exchange) {
      const caller = new ResponseCaller(exchange, services.clock);
      const admitted = exchange.admitted!;
      const wishes = readWishes(exchange.request.headers);
      if ('kind' in wishes) return caller.refuse(wishes, admitted.headers);
      const idempotencyKey = readIdempotencyKey(exchange.request.headers);
      if (idempotencyKey !== null && typeof idempotencyKey === 'object')
        return caller.refuse(idempotencyKey, admitted.headers);
      const body = await readJsonBody(exchange, services.snapshot().config.server.body_limit);
      if (body === null) return;
      if (!Buffer.isBuffer(body)) return caller.refuse(body, admitted.headers);
      await runChat(services, {
        requestId: exchange.requestId,
        clientRequestId: exchange.clientRequestId,
        endpoint: 'chat',
        dialect: 'openai-chat',
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
