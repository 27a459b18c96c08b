import type { LastingCallers } from '../../../books/auth/caller-note.ts';
import { createClientSecrets } from '../../../books/auth/client-secrets.ts';
import { speechSchema } from '../../../formats/media/speech/read-request.ts';
import { transcriptionSchema } from '../../../formats/media/transcription/read-request.ts';
import { createRealtimeSteps } from '../../../inference/endpoints/realtime-steps.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import { speechEndpoint } from '../../../inference/families/speech/endpoint.ts';
import { listVoices } from '../../../inference/families/speech/list-voices.ts';
import { transcriptionEndpoint } from '../../../inference/families/transcription/endpoint.ts';
import { refuse } from '../../../inference/spine/sink.ts';
import { isFailure } from '../../../kernel/failure.ts';
import type { Sealer } from '../../../kernel/seal.ts';
import { callerOf, type Exchange, type Route } from '../../exchange.ts';
import { asReceived, bodyHandler, uploadHandler } from '../../model-call.ts';
import { writeJson } from '../../write-json.ts';
import { liveRoutes } from '../google/live.ts';
import { keyRoute } from '../key-route.ts';
import { realtimeRoutes } from '../realtime/realtime.ts';

/** Speech, transcription and sessions of both. `sealer` seals what client secrets open. */
export function soundRoutes(services: Services, ring: LastingCallers, sealer: Sealer): Route[] {
  const secrets = createClientSecrets(sealer, ring, services.clock);
  const sessions = { ...services, principalOf: ring.principalOf, steps: createRealtimeSteps(services) };
  return [
    ...speechRoutes(services),
    ...transcriptionRoutes(services),
    ...realtimeRoutes({ services: sessions, secrets }),
    ...liveRoutes(sessions),
  ];
}

/** `POST /v1/audio/speech` and `GET /v1/audio/voices`: OpenAI's format over any provider or engine that speaks. */
function speechRoutes(services: Services): Route[] {
  return [
    keyRoute('POST /v1/audio/speech', 'one', {
      limitForm: 'openai',
      endpoint: 'speech',
      summary: 'Turn text into speech',
      body: { schema: speechSchema },
      handle: bodyHandler(services, speechEndpoint(services), asReceived),
    }),
    keyRoute('GET /v1/audio/voices', 'free', {
      summary: 'The voices of a model (?model=), or of all that speak',
      handle: (exchange) => answerVoices(services, exchange),
    }),
  ];
}

async function answerVoices(services: Services, exchange: Exchange): Promise<void> {
  const model = new URLSearchParams(exchange.search).get('model');
  const voices = await listVoices(services, model, callerOf(exchange));
  if (isFailure(voices)) return refuse(exchange.client, voices, []);
  const data = voices.map(({ id, kind, models }) => ({ id, object: 'voice', name: id, kind, models: [...models] }));
  // Open WebUI and clients of Kokoro-FastAPI read `voices`.
  writeJson(exchange, 200, { object: 'list', data, voices: data });
}

/** `POST /v1/audio/transcriptions` and `/v1/audio/translations`: OpenAI's forms over any provider that transcribes. */
function transcriptionRoutes(services: Services): Route[] {
  const route = (id: 'transcription' | 'translation'): Route => {
    return keyRoute(`POST /v1/audio/${id}s`, 'one', {
      summary: id === 'transcription' ? 'Transcribe audio' : 'Translate audio into English text',
      limitForm: 'openai',
      endpoint: id,
      body: { form: 'multipart/form-data', schema: transcriptionSchema },
      handle: uploadHandler(services, transcriptionEndpoint(services, id), 1, asReceived),
    });
  };
  return [route('transcription'), route('translation')];
}
