import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../kernel/clock.ts';
import { isObject, parsedData } from '../kernel/json.ts';
import { dripped, firstBytes, firstFrames, gzipped, type Step, withCrlf } from './answer-steps.ts';
import { type ArrivedBody, type ArrivedRequest, composeReply, type Reply, type ReplyContext } from './compose-reply.ts';
import { type Endpoint, endpointOf, type OtherFormats } from './endpoints/endpoint.ts';
import type { FaultChoice } from './faults/choose-fault.ts';
import { type FaultSpec, healthy } from './faults/fault-spec.ts';
import type { Point } from './faults/fault-values.ts';
import type { Exchange } from './recording.ts';

/** A request whose body has been read. */
export interface Arrival {
  request: IncomingMessage;
  response: ServerResponse;
  /** Without the query. */
  path: string;
  body: ArrivedBody;
  exchange: Exchange;
}

export interface ServeContext extends ReplyContext {
  clock: Clock;
  otherFormats: OtherFormats;
  faults: FaultChoice;
}

/** Answers arrivals: faults that strike before there is an answer first, then the answer and what becomes of it. */
export function createService(context: ServeContext) {
  const { clock, faults, otherFormats } = context;
  const answeredOn = new WeakSet<Socket>();
  let serial = 0;

  function chosenEndpoint({ request, path }: Arrival): Endpoint {
    const { headers } = request;
    return otherFormats(request.url ?? '/', headers) ?? endpointOf(path, headers);
  }

  function answer(arrival: Arrival, spec: FaultSpec): void {
    const { request, response, path, exchange } = arrival;
    const { headers } = request;
    const endpoint = chosenEndpoint(arrival);
    const body = withWordsOfUrl(arrival.body, endpoint);
    serial += 1;
    const arrived: ArrivedRequest = {
      endpoint,
      method: request.method ?? '',
      path,
      headers,
      body,
      requestId: `req_sim${serial}`,
      serial,
      wallMs: clock.wallMs(),
    };
    deliver(response, disturb(composeReply(arrived, spec, context), spec), exchange);
  }

  function answerLate(arrival: Arrival, spec: FaultSpec, connection: 'fresh' | 'reused'): void {
    if (mayAnswer(arrival, spec, connection)) answer(arrival, spec);
  }

  return {
    /** Without faults, whatever the request asks for. */
    healthy(arrival: Arrival): void {
      answer(arrival, healthy);
    },
    withFaults(arrival: Arrival): void {
      const { request, response, path } = arrival;
      const endpoint = chosenEndpoint(arrival);
      const body = withWordsOfUrl(arrival.body, endpoint);
      const chosen = faults.take({
        path,
        credential: credentialOf(request),
        header: headerOf(request, 'x-mock'),
        model: modelOfPath(endpoint) ?? (isObject(body) && typeof body.model === 'string' ? body.model : ''),
        body,
      });
      if (!chosen.ok) return refuseFault(response, chosen.message);
      const { spec } = chosen;
      const { socket } = request;
      const connection = answeredOn.has(socket) ? 'reused' : 'fresh';
      answeredOn.add(socket);
      if (spec === healthy) return answer(arrival, spec);
      const idleMs = spec['idle-close'];
      if (idleMs !== undefined) response.once('finish', () => setTimeout(() => socket.end(), idleMs));
      // A whole answer keeps its thoughts to itself, and the caller waiting.
      const thinkMs = isObject(body) && body.stream === true ? 0 : (spec['slow-reasoning'] ?? 0);
      const waitMs = (spec.delay ?? 0) + thinkMs;
      if (waitMs === 0) {
        answerLate(arrival, spec, connection);
        return;
      }
      const timer = setTimeout(answerLate, waitMs, arrival, spec, connection);
      response.once('close', () => clearTimeout(timer));
    },
  };
}

/** Faults before an answer: false where they leave no answer to give. */
function mayAnswer({ response, request, exchange }: Arrival, spec: FaultSpec, connection: 'fresh' | 'reused'): boolean {
  if (response.destroyed || spec.hang) return false;
  if (spec.reset || (spec['reset-reused'] && connection === 'reused')) {
    exchange.endedByUs = 'yes';
    request.socket.resetAndDestroy();
    return false;
  }
  if (spec['early-hints']) response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' });
  return true;
}

function refuseFault(response: ServerResponse, message: string): void {
  response.writeHead(400, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message, type: 'mock_error', param: 'x-mock', code: null } }));
}

/** `text` as `collectBody` gives it. */
export function bodyOf(text: string | null): ArrivedBody {
  if (text === null) return 'too-large';
  return text === '' ? undefined : parsedData(text);
}

function withWordsOfUrl(body: ArrivedBody, { urlMembers }: Endpoint): ArrivedBody {
  return urlMembers !== undefined && isObject(body) ? { ...body, ...urlMembers } : body;
}

/** For a request for an answer; a list of models needs no stream. */
function modelOfPath({ kind, pathModel }: Endpoint): string | null {
  return kind === 'chat' ? pathModel : null;
}

function headerOf(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name];
  return typeof value === 'string' ? value : null;
}

/** The secret alone, whichever of the four headers carried it. */
function credentialOf(request: IncomingMessage): string {
  const { authorization } = request.headers;
  if (authorization !== undefined) return authorization.slice(authorization.indexOf(' ') + 1);
  return headerOf(request, 'x-api-key') ?? headerOf(request, 'api-key') ?? headerOf(request, 'x-goog-api-key') ?? '';
}

/**
 * A reset throws away what the kernel has not delivered yet; this much time lets the reader take it, so that `cut=120`
 * means that 120 bytes arrive.
 */
const settleMs = 5;

/** Writes a delivery to its socket: with backpressure, pauses and its ending. Stops when the client leaves. */
function deliver(response: ServerResponse, delivery: Delivery, exchange: Exchange): void {
  response.writeHead(delivery.status, delivery.headers);
  const { body } = delivery;
  if (typeof body === 'string') {
    exchange.bytesSent = Buffer.byteLength(body);
    response.end(body);
    return;
  }
  pump(response, body[Symbol.iterator](), delivery.ending, exchange);
}

function pump(response: ServerResponse, steps: Iterator<Step>, ending: Ending, exchange: Exchange): void {
  let timer: NodeJS.Timeout | undefined;
  let flushed = false;

  function run(): void {
    while (!response.destroyed) {
      const step = steps.next();
      if (step.done) {
        response.off('close', stop);
        finish(response, ending, exchange);
        return;
      }
      if (typeof step.value === 'number') {
        // The headers must not wait for the first byte.
        if (!flushed) response.flushHeaders();
        flushed = true;
        if (step.value === 0) setImmediate(run);
        else timer = setTimeout(run, step.value);
        return;
      }
      flushed = true;
      exchange.bytesSent += typeof step.value === 'string' ? Buffer.byteLength(step.value) : step.value.length;
      if (!response.write(step.value)) {
        response.once('drain', run);
        return;
      }
    }
  }
  function stop(): void {
    clearTimeout(timer);
    steps.return?.();
  }
  response.once('close', stop);
  run();
}

function finish(response: ServerResponse, ending: Ending, exchange: Exchange): void {
  if (ending === 'end') {
    response.end();
    return;
  }
  response.flushHeaders();
  if (ending === 'stall') return;
  exchange.endedByUs = 'yes';
  onceFlushed(response, () => {
    if (ending === 'reset') response.socket?.resetAndDestroy();
    else response.socket?.end();
  });
}

function onceFlushed(response: ServerResponse, then: () => void): void {
  setTimeout(() => {
    if (response.destroyed) return;
    if (response.writableLength > 0) onceFlushed(response, then);
    else then();
  }, settleMs);
}

/** How the bytes stop: the end of the HTTP message, a TCP reset, a TCP close in the middle, or not at all. */
type Ending = 'end' | 'reset' | 'fin' | 'stall';

/** Bytes for the wire. A string body with ending `end` is the plain case and has its length announced. */
interface Delivery {
  status: number;
  headers: Record<string, string>;
  body: string | Iterable<Step>;
  ending: Ending;
}

/** The transport's faults, laid over a reply: where it stops and how, in which pieces, compressed or not. */
function disturb(reply: Reply, spec: FaultSpec): Delivery {
  const { status, headers } = reply;
  const isWhole = typeof reply.body === 'string';
  const struck = strikeOf(spec);
  if (struck === null && spec.gzip === undefined && spec.drip === undefined && spec.crlf === undefined) {
    if (typeof reply.body === 'string') headers['content-length'] = String(Buffer.byteLength(reply.body));
    return { status, headers, body: reply.body, ending: 'end' };
  }
  let body: Iterable<Step> = typeof reply.body === 'string' ? [reply.body] : reply.body;
  const sizeBytes = typeof reply.body === 'string' ? Buffer.byteLength(reply.body) : null;
  if (spec.crlf && !isWhole) body = withCrlf(body);
  if (struck !== null && struck.point.unit !== 'bytes') body = stoppedAt(body, struck, reply.introFrames, sizeBytes);
  if (spec.gzip && headers['content-encoding'] === undefined) {
    headers['content-encoding'] = 'gzip';
    body = gzipped(body);
  } else if (sizeBytes !== null && struck?.ending !== 'end') {
    // The length is promised; cut, fin and stall then break the promise.
    headers['content-length'] = String(sizeBytes);
  }
  if (struck !== null && struck.point.unit === 'bytes') body = firstBytes(body, struck.point.count);
  if (spec.drip !== undefined) body = dripped(body, spec.drip.bytes, spec.drip.everyMs);
  return { status, headers, body, ending: struck?.ending ?? 'end' };
}

interface Strike {
  fault: 'cut' | 'fin' | 'eof' | 'stall';
  point: Point;
  ending: Ending;
}

function strikeOf(spec: FaultSpec): Strike | null {
  if (spec.cut !== undefined) return { fault: 'cut', point: spec.cut, ending: 'reset' };
  if (spec.fin !== undefined) return { fault: 'fin', point: spec.fin, ending: 'fin' };
  if (spec.eof !== undefined) return { fault: 'eof', point: spec.eof, ending: 'end' };
  if (spec.stall !== undefined) return { fault: 'stall', point: spec.stall, ending: 'stall' };
  return null;
}

/** Points that are not counted in bytes of the wire: frames, or the fault's own place. */
function stoppedAt(
  body: Iterable<Step>,
  struck: Strike,
  introFrames: number,
  sizeBytes: number | null,
): Iterable<Step> {
  const { point, fault } = struck;
  if (fault === 'stall' && point.unit === 'default') return firstBytes(body, 0);
  if (sizeBytes !== null) return firstBytes(body, Math.floor(sizeBytes / 2));
  if (point.unit === 'events') return firstFrames(body, point.count);
  // `eof` alone: the frames come without their end already.
  return fault === 'eof' ? body : firstFrames(body, introFrames + 1);
}
