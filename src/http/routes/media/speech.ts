import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import { speechSchema } from '../../../formats/media/speech/read-request.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import { speechEndpoint } from '../../../inference/families/speech/endpoint.ts';
import { listVoices } from '../../../inference/families/speech/list-voices.ts';
import { refuse } from '../../../inference/spine/sink.ts';
import { isFailure } from '../../../kernel/failure.ts';
import { callerOf, type Exchange, type Route } from '../../exchange.ts';
import { asReceived, bodyHandler } from '../../model-call.ts';
import { writeJson } from '../../write-json.ts';

/** `POST /v1/audio/speech` and `GET /v1/audio/voices`: OpenAI's format over any provider or engine that speaks. */
export function speechRoutes(services: Services): Route[] {
  return [
    {
      method: 'POST',
      path: '/v1/audio/speech',
      auth: 'key',
      quota: 'one',
      limitForm: 'openai',
      endpoint: 'speech',
      dialect: openAiChat,
      summary: 'Turn text into speech',
      body: { schema: speechSchema },
      handle: bodyHandler(services, speechEndpoint(services), asReceived),
    },
    {
      method: 'GET',
      path: '/v1/audio/voices',
      auth: 'key',
      quota: 'free',
      dialect: openAiChat,
      summary: 'The voices of a model (?model=), or of all that speak',
      handle: (exchange) => answerVoices(services, exchange),
    },
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
