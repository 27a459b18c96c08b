import { Readable } from 'node:stream';
import { aiSdk } from '../../../formats/dialects/ai-sdk/index.ts';
import {
  imageAnswer,
  objectsWarning,
  rerankAnswer,
  speechAnswer,
  transcriptionAnswer,
  warningsOf,
} from '../../../formats/media/ai-sdk/media-answer.ts';
import {
  type ConvertedCall,
  imageCallOf,
  mediaWords,
  ranksObjects,
  rerankCallOf,
  speechCallOf,
  transcriptionCallOf,
} from '../../../formats/media/ai-sdk/media-request.ts';
import { type MediaKind, mediaSchema } from '../../../formats/media/ai-sdk/request-checks.ts';
import { timestampsOf } from '../../../formats/media/transcription/format.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import { forwardedEndpoint } from '../../../inference/families/forwarded/endpoint.ts';
import { speechEndpoint } from '../../../inference/families/speech/endpoint.ts';
import { transcriptionEndpoint } from '../../../inference/families/transcription/endpoint.ts';
import { type Failure, failureIn, invalid, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { Target } from '../../../routing/target.ts';
import { callerOf, type Exchange, headerOf, type Route } from '../../exchange.ts';
import { asReceived, bodyHandler, uploadHandler } from '../../model-call.ts';
import type { Multipart } from '../../read-multipart.ts';
import { refuseCall } from '../../write-json.ts';
import { ConvertedDelivery, type ConvertedFacts } from '../converted-delivery.ts';
import { imageHandlers } from '../media/image-handlers.ts';
import { readObject } from '../read-object.ts';

/** A call with its body read, and the model that its header names. */
export interface NamedCall {
  model: string;
  body: JsonObject;
}

/** Facts that all routes of such calls share. */
export const shared = { method: 'POST', auth: 'key', quota: 'one', limitForm: 'openai', dialect: aiSdk } as const;

/** Calls of models that draw, speak, transcribe and rank. Each is served by its family, in OpenAI's format. */
export function mediaRoutes(services: Services): Route[] {
  const route = (kind: Exclude<MediaKind, 'video'>, summary: string, handle: Handle): Route => ({
    ...shared,
    path: `/v4/ai/${kind}-model`,
    summary: `${summary}; a header names the model`,
    endpoint: kind === 'reranking' ? 'rerank' : kind,
    body: { schema: () => mediaSchema(kind) },
    async handle(exchange) {
      const call = await readNamed(services, exchange);
      if (call !== null) await handle(exchange, call);
    },
  });
  return [
    route('image', "A call of the AI SDK's image models", imageHandler(services)),
    route('speech', "A call of the AI SDK's speech models", speechHandler(services)),
    route('transcription', "A call of the AI SDK's transcription models", transcriptionHandler(services)),
    route('reranking', "A call of the AI SDK's reranking models", rerankHandler(services)),
  ];
}

type Handle = (exchange: Exchange, call: NamedCall) => Promise<void>;

/** The model that a header names, or a 400. */
export function modelNamed(exchange: Exchange, header = 'ai-model-id'): string | Failure {
  const model = headerOf(exchange, header);
  return model === undefined || model === ''
    ? invalid(header, `Missing header '${header}': send the name of a model (GET /v1/models lists them).`)
    : model;
}

/** Body and model of a call; null: it was refused, or its caller left. */
export async function readNamed(services: Services, exchange: Exchange): Promise<NamedCall | null> {
  const model = modelNamed(exchange);
  if (typeof model !== 'string') return refuseCall(exchange, model);
  const body = await readObject(services, exchange);
  return body && { model, body };
}

/** The exchange as a family of OpenAI's format serves it. */
function converted(exchange: Exchange, kind: MediaKind, { body, lost }: ConvertedCall, answerOf: AnswerOf): Exchange {
  const client = new ConvertedDelivery(exchange.client, { words: mediaWords[kind], lost, answerOf });
  return { ...exchange, client, givenBody: Buffer.from(JSON.stringify(body)) };
}

type AnswerOf = ConvertedFacts['answerOf'];

function parsed(answer: Buffer): JsonObject {
  return JSON.parse(answer.toString('utf8')) as JsonObject;
}

/** Targets of a model that the caller may use; none for a model that is unknown, which its family refuses. */
export function targetsOf(services: Services, exchange: Exchange, model: string): Target[] {
  const alias = services.snapshots.current.models.resolve(model, callerOf(exchange));
  return isFailure(alias) ? [] : alias.candidates.map(({ target }) => target);
}

function imageHandler(services: Services): Handle {
  const { draw, change } = imageHandlers(services);
  return async (exchange, { model, body }) => {
    const makers = targetsOf(services, exchange, model).flatMap(({ image }) => image ?? []);
    const call = imageCallOf(body, model, makers);
    if (isFailure(call)) return void refuseCall(exchange, call);
    const handle = call.body.images === undefined ? draw : change;
    await handle(converted(exchange, 'image', call, (answer, lost) => imageAnswer(parsed(answer), warningsOf(lost))));
  };
}

function speechHandler(services: Services): Handle {
  const speak = bodyHandler(services, speechEndpoint(services), asReceived);
  return async (exchange, { model, body }) => {
    const call = speechCallOf(body, model);
    if (isFailure(call)) return void refuseCall(exchange, call);
    await speak(converted(exchange, 'speech', call, (answer, lost) => speechAnswer(answer, warningsOf(lost))));
  };
}

function rerankHandler(services: Services): Handle {
  const rank = bodyHandler(services, forwardedEndpoint(services, 'rerank'), asReceived);
  return async (exchange, { model, body }) => {
    const call = rerankCallOf(body, model);
    if (isFailure(call)) return void refuseCall(exchange, call);
    const first = ranksObjects(body) ? [objectsWarning] : [];
    await rank(
      converted(exchange, 'reranking', call, (answer, lost) =>
        rerankAnswer(parsed(answer), [...first, ...warningsOf(lost)]),
      ),
    );
  };
}

function transcriptionHandler(services: Services): Handle {
  const endpoint = transcriptionEndpoint(services, 'transcription');
  return async (exchange, { model, body }) => {
    const call = transcriptionCallOf(body, model, timesOf(services, exchange, model));
    if (isFailure(call)) return void refuseCall(exchange, call);
    const { fields, audioBase64, mediaType, lost } = call;
    const answerOf: AnswerOf = (answer, left) => transcriptionAnswer(parsed(answer), warningsOf(left));
    const client = new ConvertedDelivery(exchange.client, { words: mediaWords.transcription, lost, answerOf });
    const form = () => formOf(services, exchange, fields, { base64: audioBase64, mediaType });
    await uploadHandler(services, endpoint, 1, asReceived, form)({ ...exchange, client });
  };
}

/** `given`: every target that transcribes gives the times of segments, so that asking for them excludes none. */
function timesOf(services: Services, exchange: Exchange, model: string): 'given' | 'none' {
  const { providers } = services.snapshots.current;
  const times = targetsOf(services, exchange, model).flatMap(({ provider, model: name }) => {
    const facts = providers.get(provider)?.connection.transcription ?? null;
    return facts === null ? [] : [timestampsOf(facts, name)];
  });
  return times.includes('none') ? 'none' : 'given';
}

/** A form with one file on disk, which holds the sound of a body. */
async function formOf(
  { spool }: Services,
  exchange: Exchange,
  fields: Multipart['fields'],
  sound: { base64: string; mediaType: string | null },
): Promise<Multipart | Failure> {
  const file = await spool.place(callerOf(exchange).account);
  try {
    await file.fill(Readable.from([Buffer.from(sound.base64, 'base64')]));
  } catch (error) {
    await file.remove();
    return failureIn(error);
  }
  const { mediaType } = sound;
  return {
    fields,
    files: [{ name: 'file', fileName: 'audio', mediaType, file, param: 'audio' }],
    release: () => file.remove(),
  };
}
