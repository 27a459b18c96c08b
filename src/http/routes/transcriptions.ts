import { openAiChat } from '../../inference/dialects/openai-chat/index.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { serve } from '../../inference/spine/serve.ts';
import type { Route } from '../exchange.ts';
import { receiveUpload } from '../receive-model-call.ts';

/**
 * `POST /v1/audio/transcriptions` and `/v1/audio/translations`: OpenAI's forms over anybody who writes down speech. What
 * serves them is loaded with the first call, so that no start waits for it.
 */
export function transcriptionRoutes(services: Services): Route[] {
  const route = (endpoint: 'transcription' | 'translation'): Route => ({
    method: 'POST',
    path: `/v1/audio/${endpoint}s`,
    auth: 'key',
    quota: 'one',
    limitForm: 'openai',
    endpoint,
    dialect: openAiChat,
    async handle(exchange) {
      await receiveUpload(services, exchange, 1, async (call, form) => {
        const { transcriptionEndpoint } = await import('../../inference/transcription/endpoint.ts');
        await serve(services, transcriptionEndpoint(services, endpoint), call, form);
      });
    },
  });
  return [route('transcription'), route('translation')];
}
