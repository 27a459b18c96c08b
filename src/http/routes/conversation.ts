import type { LimitHeaderForm } from '../../books/metering/admission.ts';
import type { CallerDialect } from '../../formats/dialects/dialect.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { type ConversationEndpoint, chatEndpoint } from '../../inference/families/chat/endpoint.ts';
import type { Route } from '../exchange.ts';
import { asReceived, bodyHandler, type InputOf } from '../model-call.ts';
import { keyRoute } from './key-route.ts';

/** Path of a conversation, with its format. */
export interface ConversationPlace {
  path: string;
  summary: string;
  endpoint: ConversationEndpoint;
  dialect: CallerDialect;
  limitForm: LimitHeaderForm;
  /** Puts the parts of the request outside its body into it. */
  readBody?: InputOf<Buffer, Buffer>;
}

/** A POST that any model answers, whatever its provider speaks. */
export function conversationRoute(
  services: Services,
  { path, summary, endpoint, dialect, limitForm, readBody = asReceived }: ConversationPlace,
): Route {
  return keyRoute(`POST ${path}`, 'one', {
    summary,
    limitForm,
    endpoint,
    dialect,
    body: { schema: () => dialect.requestSchema('answer') },
    handle: bodyHandler(services, chatEndpoint(services, endpoint, dialect.id), readBody),
  });
}
