import type { Services } from '../../inference/endpoints/services.ts';
import type { Alias } from '../../inference/models/alias.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import { callerOf, type Exchange, type Route } from '../exchange.ts';
import { writeJson } from '../write-json.ts';
import { keyRoute } from './key-route.ts';

/**
 * `GET /models/info?model=…`: what Azure AI's inference clients ask of an endpoint; without a model, of the first that
 * chats. Their other paths are those of OpenAI's format below another base (`other-base`).
 */
export function modelInfoRoute(services: Services): Route {
  return keyRoute('GET /models/info', 'free', {
    summary: "What a model is, as Azure AI's inference clients ask it",
    handle(exchange) {
      const alias = requestedModel(services, exchange);
      if (isFailure(alias)) return refuse(exchange.client, alias, []);
      const { id, ownedBy, listedAs } = alias;
      const type = types[listedAs] ?? listedAs;
      writeJson(exchange, 200, { model_name: id, model_type: type, model_provider_name: ownedBy });
    },
  });
}

/** Azure's words for types of models, where they are others. */
const types: Readonly<Record<string, string>> = {
  chat: 'chat-completion',
  embedding: 'embeddings',
  image: 'image-generation',
  speech: 'audio-generation',
};

function requestedModel({ snapshots }: Services, exchange: Exchange): Alias | Failure {
  const model = new URLSearchParams(exchange.search).get('model');
  const caller = callerOf(exchange);
  const { models } = snapshots.current;
  if (model !== null) return models.resolve(model, caller);
  const first = models.list(caller).find(({ listedAs }) => listedAs === 'chat');
  return first ?? { kind: 'not-found', message: 'No chat model is available to this key.' };
}
