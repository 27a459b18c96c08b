import { isUtf8 } from 'node:buffer';
import type { ServerResponse } from 'node:http';
import type { AdminApi, AdminMethod, AdminReply, AdminRequest } from '../../../admin/admin-api.ts';
import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import type { ObjectReader } from '../../../inference/spine/body-reader.ts';
import { refuse } from '../../../inference/spine/sink.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { offLoopBodyBytes, readerStallTimeoutMs } from '../../../kernel/limits.ts';
import { identityHeaders } from '../../delivery.ts';
import { type Exchange, errorContextOf, operatorOf, type Route } from '../../exchange.ts';
import { hasBody, readBody, readJsonBody } from '../../read-body.ts';
import { writeJson } from '../../write-json.ts';

const prefix = '/admin/v1';
const methods: readonly AdminMethod[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** The only body that is not JSON. */
const yamlPath = '/config/check';
const bodyBytesMax = 1024 * 1024;
/** One point of an export may be as large as what the vector API takes. */
const pointsPath = '/vectors/points';
const pointsBytesMax = 64 * 1024 * 1024;

/**
 * Everything below /admin/v1, for the admin key alone. One pattern covers all of it: the same check of the key refuses
 * an unknown path.
 */
export function adminRoutes(api: Pick<AdminApi, 'handle'>, clock: Clock, objects: ObjectReader): Route[] {
  return methods.map((method) => ({
    method,
    path: `${prefix}/*`,
    auth: 'admin',
    quota: 'none',
    endpoint: 'admin',
    summary: 'The admin API',
    dialect: openAiChat,
    handle: (exchange) => answer(api, clock, objects, method, exchange),
  }));
}

async function answer(
  api: Pick<AdminApi, 'handle'>,
  clock: Clock,
  objects: ObjectReader,
  method: AdminMethod,
  exchange: Exchange,
): Promise<void> {
  const refused = (failure: Failure) => refuse(exchange.client, failure, []);
  // The router decodes before it matches, so another spelling of a path is not another way in.
  if (!exchange.path.startsWith(`${prefix}/`)) {
    return refused({ kind: 'not-found', message: `There is no ${exchange.path.slice(0, 200)} here.` });
  }
  const path = exchange.path.slice(prefix.length);
  const given = await bodyOf(exchange, path, objects);
  if (given === null) return;
  if (isFailure(given)) return refused(given);
  const query = new URLSearchParams(exchange.search);
  const reply = await api.handle({ method, path, query, ...given, operator: operatorOf(exchange) });
  if (reply.failure === undefined) return write(exchange, reply);
  if (Object.keys(reply.members ?? {}).length === 0) return refused(reply.failure);
  const error = openAiChat.errorBody(reply.failure, errorContextOf(exchange, clock.wallMs()));
  writeJson(exchange, reply.status, { ...reply.members, ...error } as JsonObject);
}

/** '' when there is none; null when the caller left while sending. */
async function bodyOf(
  exchange: Exchange,
  path: string,
  objects: ObjectReader,
): Promise<Pick<AdminRequest, 'body' | 'text'> | Failure | null> {
  const { method } = exchange.request;
  if (!hasBody(exchange.request) || method === 'GET' || method === 'HEAD' || method === 'DELETE') return { body: '' };
  const body = await (path === yamlPath ? readBody : readJsonBody)(
    exchange,
    path === pointsPath ? pointsBytesMax : bodyBytesMax,
  );
  if (body === null) return null;
  if (!Buffer.isBuffer(body)) return body;
  if (body.length > offLoopBodyBytes) {
    const read = await objects.readObject('', body);
    // What other threads read has doubles.
    return isFailure(read) || path !== pointsPath ? read : { body: read.body, text: body.toString('utf8') };
  }
  if (isUtf8(body)) return { body: body.toString('utf8') };
  return invalid(null, 'The request body is not valid UTF-8.');
}

async function write(exchange: Exchange, { status, contentType, body }: AdminReply): Promise<void> {
  const { request, response } = exchange;
  const headers = [...identityHeaders(exchange), 'content-type', contentType, 'cache-control', 'no-store'];
  if (typeof body === 'string') {
    response.writeHead(status, [...headers, 'content-length', String(Buffer.byteLength(body))]);
    response.end(request.method === 'HEAD' ? undefined : body);
    return;
  }
  response.writeHead(status, headers);
  await writePieces(response, body, request.method === 'HEAD' ? 'head' : 'all');
  response.end();
}

/**
 * No faster than the caller reads; one who leaves, or reads nothing for 60 s, ends it. The first piece is read of a `head`,
 * too: only what has begun gives up what it holds.
 */
async function writePieces(
  response: ServerResponse,
  pieces: AsyncIterable<string | Uint8Array>,
  part: 'head' | 'all',
): Promise<void> {
  for await (const piece of pieces) {
    if (response.destroyed || part === 'head') return;
    if (piece.length > 0 && !response.write(piece)) await readOn(response);
  }
}

function readOn(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const stall = setTimeout(() => response.destroy(), readerStallTimeoutMs);
    const done = () => {
      clearTimeout(stall);
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
    if (response.destroyed) done();
  });
}
