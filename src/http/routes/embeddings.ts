import { openAiChat } from '../../inference/dialects/openai-chat/index.ts';
import { runEmbeddings } from '../../inference/pipeline/embed.ts';
import type { Services } from '../../inference/pipeline/services.ts';
import type { Route } from '../exchange.ts';
import { receiveModelCall } from '../receive-model-call.ts';

/** `POST /v1/embeddings`: OpenAI's format over any provider that makes vectors. */
export function embeddingsRoute(services: Services): Route {
  return {
    method: 'POST',
    path: '/v1/embeddings',
    auth: 'key',
    quota: 'one',
    limitForm: 'openai',
    validator: 'embeddings',
    dialect: openAiChat,
    async handle(exchange) {
      const call = await receiveModelCall(services, exchange);
      if (call !== null) await runEmbeddings(services, { ...call, endpoint: 'embeddings' }, 'embeddings');
    },
  };
}
