import { anthropicMessages } from '../../inference/dialects/anthropic-messages/index.ts';
import { countTokens } from '../../inference/pipeline/count-tokens.ts';
import type { Services } from '../../inference/pipeline/services.ts';
import type { Exchange, Route } from '../exchange.ts';
import { readJsonBody } from '../read-body.ts';
import { writeFailure } from '../write-failure.ts';
import { writeJson } from '../write-json.ts';
import { conversationRoute } from './conversation.ts';

/** `POST /v1/messages`, with or without `?beta=true`, and its `count_tokens`: Anthropic's format over any provider. */
export function messagesRoutes(services: Services): Route[] {
  return [
    conversationRoute(services, {
      path: '/v1/messages',
      endpoint: 'messages',
      dialect: anthropicMessages,
      limitForm: 'anthropic',
    }),
    {
      method: 'POST',
      path: '/v1/messages/count_tokens',
      auth: 'key',
      // Claude Code sends 25 at once; a count costs nothing.
      quota: 'exempt',
      limitForm: 'anthropic',
      validator: 'messages',
      dialect: anthropicMessages,
      handle: (exchange) => count(services, exchange),
    },
  ];
}

async function count(services: Services, exchange: Exchange): Promise<void> {
  const body = await readJsonBody(exchange, services.snapshot().config.server.body_limit);
  if (body === null) return;
  const counted = Buffer.isBuffer(body)
    ? await countTokens(services, {
        dialect: anthropicMessages.id,
        principal: exchange.principal!,
        body,
        callerHeaders: exchange.request.headers,
      })
    : body;
  if (counted.kind !== 'counted') return writeFailure(exchange, counted, anthropicMessages, services.clock.wallMs());
  const { by, inputTokens } = counted;
  const headers =
    by === null
      ? ['x-culvert-token-count', 'estimated']
      : ['x-culvert-provider', by.provider, 'x-culvert-model', encodeURI(by.model)];
  writeJson(exchange, 200, { input_tokens: inputTokens }, headers);
}
