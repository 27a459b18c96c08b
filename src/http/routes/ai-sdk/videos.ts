import { setTimeout as pause } from 'node:timers/promises';
import { videoErrorFrame } from '../../../formats/dialects/ai-sdk/errors.ts';
import { aiSdk } from '../../../formats/dialects/ai-sdk/index.ts';
import { warningsOf } from '../../../formats/media/ai-sdk/media-answer.ts';
import { mediaWords, videoCallOf } from '../../../formats/media/ai-sdk/media-request.ts';
import { mediaSchema, operationIn, videoStatusSchema } from '../../../formats/media/ai-sdk/request-checks.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import { videosEndpoint } from '../../../inference/families/videos/endpoint.ts';
import { videoAt, videoContent } from '../../../inference/families/videos/jobs.ts';
import { sendVideo } from '../../../inference/families/videos/stream-content.ts';
import { BufferedAnswer, bufferAnswer } from '../../../inference/spine/buffered-answer.ts';
import { type Failure, FailureError, invalid, isFailure } from '../../../kernel/failure.ts';
import { type JsonObject, objectIn } from '../../../kernel/json.ts';
import { callerOf, type Exchange, type Route } from '../../exchange.ts';
import { bodyHandler } from '../../model-call.ts';
import { refuseCall, writeJson } from '../../write-json.ts';
import { convertedHeaders, failureIn } from '../converted-delivery.ts';
import { readObject } from '../read-object.ts';
import { Base64Delivery } from './base64-delivery.ts';
import { type NamedCall, readNamed, shared, targetsOf } from './media.ts';

interface BegunVideo {
  id: string;
  headers: string[];
  lost: readonly string[];
}

/** Time between two looks at a video that a caller waits for, and the longest time that it waits. */
const firstLookMs = 1_000;
const lookEveryMs = 5_000;
const waitMsMax = 30 * 60_000;

/** Calls of models that film: begun and waited for in one call, or begun here and asked for until the video is there. */
export function videoRoutes(services: Services): Route[] {
  const film = bodyHandler(services, videosEndpoint(services), (_, body) => ({ body }));
  const begin = (exchange: Exchange, call: NamedCall) => begun(services, film, exchange, call);
  const video = { ...shared, endpoint: 'video', body: { schema: () => mediaSchema('video') } };
  return [
    {
      ...video,
      dialect: { ...aiSdk, errorFrame: videoErrorFrame },
      path: '/v4/ai/video-model',
      summary: "A call of the AI SDK's video models; it waits for the video, which comes as an event",
      async handle(exchange) {
        const call = await readNamed(services, exchange);
        const started = call === null ? null : await begin(exchange, call);
        if (started !== null) await awaited(services, exchange, started);
      },
    },
    {
      ...video,
      path: '/v4/ai/video-model/start',
      summary: "Begin a video of the AI SDK's video models; a header names the model",
      async handle(exchange) {
        const call = await readNamed(services, exchange);
        const started = call === null ? null : await begin(exchange, call);
        if (started === null) return;
        const { id, headers, lost } = started;
        writeJson(exchange, 200, { operation: { id }, warnings: warningsOf(lost) }, headers);
      },
    },
    {
      ...shared,
      quota: 'free',
      endpoint: 'video',
      path: '/v4/ai/video-model/status',
      summary: 'How far a video is that was begun before; its bytes once it is there',
      body: { schema: videoStatusSchema },
      handle: (exchange) => answerStatus(services, exchange),
    },
  ];
}

/** Begins a video by its family; null: it was refused, or its caller left. */
async function begun(
  services: Services,
  film: Route['handle'],
  exchange: Exchange,
  { model, body }: NamedCall,
): Promise<BegunVideo | null> {
  const makers = targetsOf(services, exchange, model).flatMap(({ video }) => video ?? []);
  const google = makers.length > 0 && makers.every(({ format }) => format === 'veo');
  const call = videoCallOf(body, model, google ? 'google' : 'others');
  if (isFailure(call)) return refuseCall(exchange, call);
  const words = mediaWords.video;
  const client = new BufferedAnswer();
  const givenBody = Buffer.from(JSON.stringify(call.body));
  const outcome = await bufferAnswer(leaving(exchange), client, () => film({ ...exchange, client, givenBody }));
  if (outcome === null) return null;
  const headers = convertedHeaders(outcome.headers, call.lost, words);
  if (outcome.kind === 'refused') {
    exchange.client.end({ failure: failureIn(words, outcome.failure), headers });
    return null;
  }
  const job = JSON.parse(outcome.body.toString('utf8')) as JsonObject;
  return { id: String(job.id), headers, lost: call.lost };
}

/** Aborts when the caller leaves. */
function leaving({ client }: Exchange): AbortSignal {
  const left = new AbortController();
  client.onDisconnect(() => left.abort());
  if (client.disconnected) left.abort();
  return left.signal;
}

/** Waits for a video and sends it as one event; comments keep the connection open until then. */
async function awaited(services: Services, exchange: Exchange, { id, headers, lost }: BegunVideo): Promise<void> {
  const { client } = exchange;
  const { tenant } = callerOf(exchange);
  client.expect(headers);
  const signal = leaving(exchange);
  const untilMs = services.clock.monotonicMs() + waitMsMax;
  try {
    for (let everyMs = firstLookMs; ; everyMs = Math.min(2 * everyMs, lookEveryMs)) {
      await pause(everyMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const found = await videoAt(services, tenant, id);
      if (isFailure(found)) return client.end({ failure: found, headers });
      const { job } = found;
      if (job.status === 'completed') break;
      if (job.status === 'failed') return client.end({ failure: invalid(null, reasonOf(job)), headers });
      if (services.clock.monotonicMs() >= untilMs) {
        const message = `The video is not finished after ${waitMsMax / 60_000} minutes. Send 'poll' to ask for it later.`;
        return client.end({ failure: { kind: 'overloaded', message }, headers });
      }
    }
    const warnings = JSON.stringify(warningsOf(lost));
    const failure = await sendBase64(services, exchange, id, headers, {
      form: 'events',
      before: `data: {"type":"result","warnings":${warnings},"videos":[{"type":"base64",`,
      after: '}]}\n\n',
    });
    if (failure !== null) client.end({ failure, headers });
  } catch (error) {
    if (!(error instanceof FailureError)) throw error;
    client.end({ failure: error.failure, headers });
  }
}

async function answerStatus(services: Services, exchange: Exchange): Promise<void> {
  const body = await readObject(services, exchange);
  if (body === null) return;
  const id = operationIn(body);
  if (typeof id !== 'string') return void refuseCall(exchange, id);
  const headers = [...(exchange.admitted?.headers ?? [])];
  try {
    const found = await videoAt(services, callerOf(exchange).tenant, id);
    if (isFailure(found)) return void refuseCall(exchange, found);
    const { job } = found;
    if (job.status === 'failed') return writeJson(exchange, 200, { status: 'error', error: reasonOf(job) }, headers);
    if (job.status !== 'completed') return writeJson(exchange, 200, { status: 'pending' }, headers);
    const failure = await sendBase64(services, exchange, id, headers, {
      form: 'bytes',
      before: '{"status":"completed","videos":[{"type":"base64",',
      after: '}]}',
    });
    if (failure !== null) refuseCall(exchange, failure);
  } catch (error) {
    if (!(error instanceof FailureError)) throw error;
    refuseCall(exchange, error.failure);
  }
}

/** Sends the bytes of a video within `frame`. A failure while there are none; null: they were sent. */
async function sendBase64(
  services: Services,
  exchange: Exchange,
  id: string,
  headers: readonly string[],
  frame: ConstructorParameters<typeof Base64Delivery>[1],
): Promise<Failure | null> {
  const content = await videoContent(services, callerOf(exchange).tenant, id, new URLSearchParams());
  if (isFailure(content)) return content;
  const client = new Base64Delivery(exchange.client, frame);
  await sendVideo(services.transport, { client, headers, takes: 'embedded', range: null }, content);
  return null;
}

function reasonOf({ error }: JsonObject): string {
  const { message, code } = objectIn(error);
  return String(message ?? code ?? 'The model gave no video.');
}
