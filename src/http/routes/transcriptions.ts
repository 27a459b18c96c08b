import { openAiChat } from '../../inference/dialects/openai-chat/index.ts';
import type { Services } from '../../inference/pipeline/services.ts';
import { runTranscription } from '../../inference/pipeline/transcription.ts';
import type { Route } from '../exchange.ts';
import { receiveUpload } from '../receive-model-call.ts';

/** `POST /v1/audio/transcriptions` and `/v1/audio/translations`: OpenAI's forms over anybody who writes down speech. */
export function transcriptionRoutes(services: Services): Route[] {
  const route = (endpoint: 'transcription' | 'translation'): Route => ({
    method: 'POST',
    path: `/v1/audio/${endpoint}s`,
    auth: 'key',
    quota: 'one',
    limitForm: 'openai',
    validator: endpoint,
    dialect: openAiChat,
    async handle(exchange) {
      await receiveUpload(services, exchange, 1, (head, form) =>
        runTranscription(services, { ...head, endpoint }, form),
      );
    },
  });
  return [route('transcription'), route('translation')];
}
