import { openAiChat } from '../../inference/dialects/openai-chat/index.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { serve } from '../../inference/spine/serve.ts';
import { transcriptionEndpoint } from '../../inference/transcription/endpoint.ts';
import type { Route } from '../exchange.ts';
import { receiveUpload } from '../receive-model-call.ts';

/** `POST /v1/audio/transcriptions` and `/v1/audio/translations`: OpenAI's forms over anybody who writes down speech. */
export function transcriptionRoutes(services: Services): Route[] {
  const route = (id: 'transcription' | 'translation'): Route => {
    const endpoint = transcriptionEndpoint(services, id);
    return {
      method: 'POST',
      path: `/v1/audio/${id}s`,
      auth: 'key',
      quota: 'one',
      limitForm: 'openai',
      endpoint: id,
      dialect: openAiChat,
      handle: (exchange) => receiveUpload(services, exchange, 1, (call, form) => serve(services, endpoint, call, form)),
    };
  };
  return [route('transcription'), route('translation')];
}
