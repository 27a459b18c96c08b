import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import { transcriptionSchema } from '../../../formats/media/transcription/read-request.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import { transcriptionEndpoint } from '../../../inference/families/transcription/endpoint.ts';
import type { Route } from '../../exchange.ts';
import { asReceived, uploadHandler } from '../../model-call.ts';

/** `POST /v1/audio/transcriptions` and `/v1/audio/translations`: OpenAI's forms over any provider that transcribes. */
export function transcriptionRoutes(services: Services): Route[] {
  const route = (id: 'transcription' | 'translation'): Route => {
    return {
      method: 'POST',
      path: `/v1/audio/${id}s`,
      summary: id === 'transcription' ? 'Transcribe audio' : 'Translate audio into English text',
      auth: 'key',
      quota: 'one',
      limitForm: 'openai',
      endpoint: id,
      dialect: openAiChat,
      body: { form: 'multipart/form-data', schema: transcriptionSchema },
      handle: uploadHandler(services, transcriptionEndpoint(services, id), 1, asReceived),
    };
  };
  return [route('transcription'), route('translation')];
}
