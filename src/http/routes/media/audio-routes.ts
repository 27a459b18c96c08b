import type { LastingCallers } from '../../../books/auth/caller-note.ts';
import { createClientSecrets } from '../../../books/auth/client-secrets.ts';
import { gemini } from '../../../formats/dialects/gemini/index.ts';
import { speechSchema } from '../../../formats/media/speech/read-request.ts';
import { demandedTranscript, demandingClients } from '../../../formats/media/transcription/demanded-members.ts';
import { transcriptionSchema } from '../../../formats/media/transcription/read-request.ts';
import { createRealtimeSteps } from '../../../inference/endpoints/realtime-steps.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import { openLive } from '../../../inference/families/realtime/open-live.ts';
import type { RealtimeServices } from '../../../inference/families/realtime/services.ts';
import { SocketEnd } from '../../../inference/families/realtime/socket-end.ts';
import { speechEndpoint } from '../../../inference/families/speech/endpoint.ts';
import { listVoices } from '../../../inference/families/speech/list-voices.ts';
import { transcriptionEndpoint } from '../../../inference/families/transcription/endpoint.ts';
import { refuse } from '../../../inference/spine/sink.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { Sealer } from '../../../kernel/seal.ts';
import { acceptWebSocket, handshakeFault } from '../../accept-web-socket.ts';
import { callerOf, type Exchange, headerOf, type Route } from '../../exchange.ts';
import { asReceived, bodyHandler, modelCallOf, uploadHandler } from '../../model-call.ts';
import { sessionCallOf } from '../../realtime-call.ts';
import { writeJson } from '../../write-json.ts';
import { ConvertedDelivery } from '../converted-delivery.ts';
import { keyRoute } from '../key-route.ts';
import { readObject } from '../read-object.ts';
import { realtimeRoutes } from '../realtime/realtime.ts';

/** Speech, transcription and sessions of both. `sealer` seals what client secrets open. */
export function soundRoutes(services: Services, ring: LastingCallers, sealer: Sealer): Route[] {
  const secrets = createClientSecrets(sealer, ring, services.clock);
  const sessions = { ...services, principalOf: ring.principalOf, steps: createRealtimeSteps(services, ring) };
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
      handle: speechHandler(services),
    }),
    keyRoute('GET /v1/audio/voices', 'free', {
      summary: 'The voices of a model (?model=), or of all that speak',
      handle: (exchange) => answerVoices(services, exchange),
    }),
  ];
}

/** Mistral's clients name `voice_id` or no voice, and read JSON. The AI SDK names no provider where it reads whole answers. */
function speechHandler(services: Services): Route['handle'] {
  const speak = bodyHandler(services, speechEndpoint(services), asReceived);
  return async (exchange) => {
    if (!/^(?:mistral-client-|ai\/)/.test(headerOf(exchange, 'user-agent') ?? '')) return speak(exchange);
    const body = await readObject(services, exchange);
    if (body === null) return;
    const { voice_id: voice, stream, ...members } = body;
    const isMistrals = stream === false && members.voice === undefined;
    const given = Buffer.from(JSON.stringify(isMistrals ? { voice: voice ?? 'alloy', ...members } : body));
    const answerOf = (sound: Buffer) => ({ audio_data: sound.toString('base64') });
    const json = new ConvertedDelivery(exchange.client, { words: { voice: 'voice_id' }, lost: [], answerOf });
    await speak({ ...exchange, givenBody: given, client: isMistrals ? json : exchange.client });
  };
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
      handle: transcriptHandler(services, id),
    });
  };
  return [route('transcription'), route('translation')];
}

/** Gives to clients of vendors what they demand. With Mistral's, times alone mean that the answer has them. */
function transcriptHandler(services: Services, id: 'transcription' | 'translation'): Route['handle'] {
  const endpoint = transcriptionEndpoint(services, id);
  const plain = uploadHandler(services, endpoint, 1, asReceived);
  return (exchange) => {
    if (!demandingClients.test(headerOf(exchange, 'user-agent') ?? '')) return plain(exchange);
    let model = '';
    const transcribe = uploadHandler(services, endpoint, 1, (_, form) => {
      const fieldOf = (pattern: RegExp) => form.fields.find(({ name }) => pattern.test(name))?.value;
      model = fieldOf(/^model$/) ?? '';
      const isTimed = fieldOf(/^timestamp_granularities/) !== undefined && fieldOf(/^response_format$/) === undefined;
      return isTimed ? { ...form, fields: [...form.fields, { name: 'response_format', value: 'verbose_json' }] } : form;
    });
    const answerOf = (answer: Buffer) =>
      demandedTranscript(JSON.parse(answer.toString()) as JsonObject, model, exchange.requestId);
    const client = new ConvertedDelivery(exchange.client, { words: {}, lost: [], jsonAlone: true, answerOf });
    return transcribe({ ...exchange, client });
  };
}

const versions = ['v1', 'v1beta', 'v1alpha'] as const;

/** Gemini's Live API (`client.live.connect`), over any provider that holds realtime sessions. */
function liveRoutes(services: RealtimeServices): Route[] {
  return versions.map((version) =>
    keyRoute(`GET /ws/google.ai.generativelanguage.${version}.GenerativeService.BidiGenerateContent`, 'one', {
      endpoint: 'realtime',
      dialect: gemini,
      webSocket: true,
      summary: "Talk to a model over a WebSocket in the format of Gemini's Live API",
      handle: (exchange) => answer(services, exchange),
    }),
  );
}

async function answer(services: RealtimeServices, exchange: Exchange): Promise<void> {
  const call = modelCallOf(exchange);
  if (call === null) return;
  const { client, upgrade, request } = exchange;
  const wrong = upgrade === null ? plainRequest : handshakeFault(request);
  if (wrong !== null) return refuse(client, wrong, call.admitted.headers);
  await openLive(services, {
    ...sessionCallOf(services, exchange, call),
    async accept(headers, messageBytesMax) {
      const socket = await acceptWebSocket(exchange, { headers, messageBytesMax });
      return socket === null ? null : new SocketEnd(socket);
    },
  });
}

const plainRequest: Failure = {
  kind: 'upgrade-required',
  to: 'websocket',
  message: 'This address takes WebSockets. Open it with wss://, as client.live.connect does.',
};
