import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { upstreamErrorBytesMax } from '../../kernel/limits.ts';
import { importWs } from '../../kernel/web/web-sockets.ts';
import type { Opening } from './connect.ts';
import { headersTimeout, type TransportError, transportErrorOf } from './transport-error.ts';
import {
  type Authorizer,
  NotAuthorized,
  type Transport,
  type UpstreamHeaders,
  type UpstreamRequest,
} from './upstream-call.ts';

export interface WebSocketRequest
  extends Pick<UpstreamRequest, 'origin' | 'route' | 'path' | 'headers' | 'connectTimeoutMs'> {
  authorize?: Authorizer | undefined;
  /** Subject of the connection, where the path does not say it: a project that it leaves open is completed. */
  subject?: string | undefined;
  /** How long the upstream may take to accept it, once it is connected. */
  acceptTimeoutMs: number;
  /** A longer message ends the connection with 1009. */
  messageBytesMax: number;
}

export type WebSocketOutcome =
  /** It is paused until it gets a listener. */
  | { kind: 'open'; socket: WebSocket; subject: string | undefined }
  /** The upstream answered with a status other than 101. */
  | { kind: 'refused'; status: number; headers: UpstreamHeaders; body: Buffer }
  | { kind: 'failed'; error: TransportError };

/** Opens a WebSocket to an upstream, over a socket of the transport: its proxies, names and certificates hold here too. */
export async function openWebSocket(
  transport: Transport,
  request: WebSocketRequest,
  signal: AbortSignal,
): Promise<WebSocketOutcome> {
  const { origin, path } = request;
  const headers: Record<string, string> = {};
  let { subject } = request;
  try {
    const plain = plainRequest(request);
    const proof = await request.authorize?.(plain, transport);
    if (subject !== undefined) subject = plain.path;
    for (const list of [request.headers, proof ?? []])
      for (let at = 0; at < list.length; at += 2) headers[list[at]!] = list[at + 1]!;
  } catch (error) {
    const message = error instanceof NotAuthorized ? error.message : 'the request could not be authorized';
    return { kind: 'failed', error: { kind: 'not-authorized', message } };
  }
  const { WebSocket } = await importWs();
  let opening: Opening | null = null;
  try {
    const socket = await new Promise<Socket>((resolve, reject) => {
      const give = () => reject(signal.reason);
      signal.addEventListener('abort', give, { once: true });
      if (signal.aborted) return give();
      opening = transport.connect(request, (error, made) => (made === null ? reject(error) : resolve(made)));
    });
    return await new Promise<WebSocketOutcome>((resolve, reject) => {
      const socketUrl = `${origin.replace(/^http/, 'ws')}${path}`;
      const made = new WebSocket(socketUrl, [], {
        createConnection: () => socket,
        headers,
        perMessageDeflate: false,
        maxPayload: request.messageBytesMax,
      });
      const give = () => {
        made.terminate();
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        made.terminate();
        resolve({ kind: 'failed', error: headersTimeout });
      }, request.acceptTimeoutMs);
      signal.addEventListener('abort', give, { once: true });
      const done = (outcome: WebSocketOutcome) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', give);
        resolve(outcome);
      };
      made.on('error', (error) => done({ kind: 'failed', error: transportErrorOf(error) }));
      made.on('open', () => {
        made.pause();
        made.removeAllListeners('error');
        // Its holder learns of an error by the close that follows.
        made.on('error', () => undefined);
        done({ kind: 'open', socket: made, subject });
      });
      made.on(
        'unexpected-response',
        (_, answer) =>
          void refusalIn(answer)
            .then(done)
            .finally(() => socket.destroy()),
      );
    });
  } catch (error) {
    (opening as Opening | null)?.destroy();
    return { kind: 'failed', error: transportErrorOf(error) };
  }
}

/** The request in the form that an authorizer sees. */
function plainRequest(request: WebSocketRequest): UpstreamRequest {
  const { origin, route, path, subject = path, headers, connectTimeoutMs } = request;
  const timeouts = { connectTimeoutMs, headersTimeoutMs: connectTimeoutMs, bodyTimeoutMs: connectTimeoutMs };
  return { origin, route, path: subject, method: 'GET', headers, body: null, ...timeouts };
}

async function refusalIn(answer: IncomingMessage): Promise<WebSocketOutcome> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes >= upstreamErrorBytesMax) break;
    }
  } catch {
    // The status says enough.
  }
  const get = (name: string) => {
    const value = answer.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  };
  return {
    kind: 'refused',
    status: answer.statusCode ?? 0,
    headers: { get, names: () => Object.keys(answer.headers) },
    body: Buffer.concat(pieces),
  };
}
