import type { IncomingHttpHeaders } from 'node:http';
import { isObject, type JsonObject } from '../kernel/json.ts';
import { endlessLine, firstFrames, gzipBomb, type Step } from './answer-steps.ts';
import { composeAnswer, type Voice } from './compose-answer.ts';
import type { Endpoint } from './endpoints/endpoint.ts';
import { modelList, openAiModels } from './endpoints/list-models.ts';
import { kokoroVoiceList } from './endpoints/list-voices.ts';
import { pictureAt } from './endpoints/speak-images.ts';
import { errorWordsOf, failingStatusOf } from './faults/error-words.ts';
import type { FaultSpec } from './faults/fault-spec.ts';
import type { Prompt } from './prompt.ts';

/** Undefined when none came, null when it was not a JSON object. */
export type ArrivedBody = JsonObject | null | undefined | 'too-large';

/** A request as far as an answer depends on it. */
export interface ArrivedRequest {
  endpoint: Endpoint;
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: ArrivedBody;
  /** Our name for this request. */
  requestId: string;
  serial: number;
  wallMs: number;
}

/** A healthy or failing answer in HTTP terms, before anything on the wire is disturbed. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  /** A body known whole, or frames. */
  body: string | Iterable<Step>;
  /** SSE frames before the first delta; 0 for a whole body. */
  introFrames: number;
}

export interface ReplyContext {
  voice: Voice;
  models: readonly string[];
}

export function composeReply(request: ArrivedRequest, spec: FaultSpec, context: ReplyContext): Reply {
  const reply = chosenReply(request, spec, context);
  const { headers } = reply;
  headers[request.endpoint.speech.requestIdHeader] = request.requestId;
  if (context.voice.purpose === 'zero-key') headers['x-culvert-simulated'] = 'true';
  if (context.voice.name !== '') headers['x-mock-name'] = context.voice.name;
  if (spec['retry-after'] !== undefined) headers['retry-after'] = spec['retry-after'];
  if (spec['retry-after-ms'] !== undefined) headers['retry-after-ms'] = String(spec['retry-after-ms']);
  const dateInMs = spec['retry-after-date'];
  if (dateInMs !== undefined) headers['retry-after'] = new Date(request.wallMs + dateInMs).toUTCString();
  if (spec.headers !== undefined) Object.assign(headers, spec.headers);
  return reply;
}

const htmlPage =
  '<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>\n';

function chosenReply(request: ArrivedRequest, spec: FaultSpec, context: ReplyContext): Reply {
  const { speech } = request.endpoint;
  if (spec.redirect !== undefined) return { ...whole(307, ''), headers: { location: spec.redirect } };
  if (spec.html) return { ...whole(spec.status ?? 200, htmlPage), headers: { 'content-type': 'text/html' } };
  if (spec.empty) return whole(spec.status ?? 200, '');
  if (failsByWords(spec)) {
    const status = failingStatusOf(spec);
    const body = speech.errorBody(errorWordsOf(spec, status, credentialsOf(request)), request.requestId);
    return whole(status, spec.malformed === undefined ? body : broken(body));
  }
  const streamed = isObject(request.body) && request.body.stream === true;
  if (spec.endless !== undefined && !speech.mediaLoops) {
    return streamed
      ? { status: 200, headers: sseHeaders(), body: endlessLine('data: {"x":"', spec.endless), introFrames: 0 }
      : { status: 200, headers: jsonHeaders(), body: endlessLine('{"x":"', spec.endless), introFrames: 0 };
  }
  if (spec.bomb !== undefined) {
    const headers = { ...(streamed ? sseHeaders() : jsonHeaders()), 'content-encoding': 'gzip' };
    return {
      status: 200,
      headers,
      body: gzipBomb(spec.bomb, streamed ? '\n\ndata: [DONE]\n\n' : '{}'),
      introFrames: 0,
    };
  }
  return answered(request, spec, context);
}

/** The error is the answer: no prompt is read, as a failing upstream reads none. */
function failsByWords(spec: FaultSpec): boolean {
  if (spec.status !== undefined) return spec.status >= 400;
  if (spec.error !== undefined) return false;
  return spec['echo-auth'] === true || spec.code !== undefined || spec.type !== undefined || spec.message !== undefined;
}

function answered(request: ArrivedRequest, spec: FaultSpec, context: ReplyContext): Reply {
  const { endpoint } = request;
  const { speech } = endpoint;
  if (endpoint.kind === 'unknown')
    return refusal(request, 404, `Unknown request URL: ${request.method} ${request.path}.`, null);
  if (request.method !== endpoint.method)
    return refusal(request, 405, `Not allowed to ${request.method} on ${request.path}.`, null);
  const modelForm = speech.models ?? openAiModels;
  if (endpoint.kind === 'models')
    return whole(spec.status ?? 200, JSON.stringify(modelList(context.models, modelForm)));
  if (endpoint.kind === 'model') {
    const id = endpoint.pathModel ?? '';
    return context.models.includes(id)
      ? whole(spec.status ?? 200, JSON.stringify(modelForm.one(id)))
      : refusal(request, 404, `The model '${id}' does not exist.`, 'model');
  }
  if (endpoint.kind === 'voices') return whole(spec.status ?? 200, JSON.stringify(kokoroVoiceList));
  if (endpoint.kind === 'picture') {
    const picture = pictureAt(request.path);
    return picture === null
      ? refusal(request, 404, `There is no picture at ${request.path}.`, null)
      : { ...whole(200, ''), headers: { 'content-type': 'image/png' }, body: [picture] };
  }
  if (request.body === 'too-large') return refusal(request, 413, 'The request is larger than 64 MB.', null);
  if (request.body === undefined || request.body === null) {
    return refusal(request, 400, 'We could not parse the JSON body of your request.', null);
  }
  if (endpoint.kind === 'count-tokens') {
    const counted = speech.read({ max_tokens: 1, ...request.body }, null);
    return 'refused' in counted
      ? refusal(request, 400, counted.refused, counted.param)
      : whole(200, speech.counted?.(counted.inputTokens) ?? `{"input_tokens":${counted.inputTokens}}`);
  }
  const prompt = speech.read(request.body, endpoint.pathModel);
  if ('refused' in prompt) return refusal(request, 400, prompt.refused, prompt.param);
  const origin = context.voice.purpose === 'zero-key' ? null : `http://${request.headers.host ?? 'localhost'}`;
  const stamp = { origin, serial: request.serial, createdS: Math.floor(request.wallMs / 1_000) };
  const answer = composeAnswer(prompt, spec, context.voice, stamp);
  const status = spec.status ?? 200;
  if (prompt.delivery === 'stream') {
    const introFrames = speech.introFrames(prompt);
    const shape = spec.eof?.unit === 'default' ? { ...spec, omit: [...(spec.omit ?? []), ...speech.finalParts] } : spec;
    const frames = speech.frames(answer, prompt, shape);
    const body = spec.error === undefined ? frames : erring(frames, request, prompt, spec, spec.error);
    return { status, headers: sseHeaders(), body, introFrames };
  }
  if (spec.error !== undefined) {
    return whole(
      status,
      speech.errorBody(errorWordsOf(spec, innerStatus(spec), credentialsOf(request)), request.requestId),
    );
  }
  const media = speech.media?.(answer, prompt, spec) ?? null;
  if (media !== null) return { status, headers: { 'content-type': media.mediaType }, body: media.body, introFrames: 0 };
  const json = speech.whole(answer, prompt, spec);
  return whole(status, spec.malformed === undefined ? json : broken(json));
}

/** `frames` up to this many deltas, then the error: the stream ends there, without its terminal event. */
function* erring(
  frames: Iterable<Step>,
  request: ArrivedRequest,
  prompt: Prompt,
  spec: FaultSpec,
  deltas: number,
): Generator<Step> {
  const { speech } = request.endpoint;
  if (deltas > 0) yield* firstFrames(frames, speech.introFrames(prompt) + deltas);
  yield speech.errorFrame(errorWordsOf(spec, innerStatus(spec), credentialsOf(request)), request.requestId);
}

/** The status that an error inside a 200 would have had: it decides the words. */
function innerStatus(spec: FaultSpec): number {
  return spec.code === undefined ? 503 : failingStatusOf({ code: spec.code });
}

/** The first colon is enough, or the last bracket of a list: no parser may take it. */
function broken(json: string): string {
  return json.startsWith('[') ? json.slice(0, -1) : json.replace('":', '"');
}

function refusal(request: ArrivedRequest, status: number, message: string, param: string | null): Reply {
  const words = { status, message, code: null, type: null, param };
  return whole(status, request.endpoint.speech.errorBody(words, request.requestId));
}

function whole(status: number, body: string): Reply {
  return { status, headers: jsonHeaders(), body, introFrames: 0 };
}

function jsonHeaders(): Record<string, string> {
  return { 'content-type': 'application/json' };
}

function sseHeaders(): Record<string, string> {
  return { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };
}

/** All credentials of a request, as they were sent. */
function credentialsOf(request: ArrivedRequest): string {
  const { headers } = request;
  return [headers.authorization, headers['x-api-key'], headers['api-key'], headers['x-goog-api-key']]
    .filter(Boolean)
    .join(', ');
}
