import { type ConversationEndpoint, chatEndpoint } from '../../inference/chat/endpoint.ts';
import type { CallerDialect } from '../../inference/dialects/dialect.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { serve } from '../../inference/spine/serve.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { LimitHeaderForm } from '../../metering/admission.ts';
import type { Exchange, Route } from '../exchange.ts';
import { receiveModelCall } from '../receive-model-call.ts';

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
  const chat = chatEndpoint(services, endpoint, dialect.id);
  return {
    method: 'POST',
    path,
    auth: 'key',
    quota: 'one',
    limitForm,
    endpoint,
    dialect,
    async handle(exchange) {
      const received = await receiveModelCall(services, exchange, readBody);
      if (received !== null) await serve(services, chat, received.call, received.body);
    },
  };
}
