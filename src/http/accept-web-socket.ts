import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import { type Failure, invalid } from '../kernel/failure.ts';
import { importWs } from '../kernel/web/web-sockets.ts';
import { identityHeaders } from './delivery.ts';
import type { Exchange } from './exchange.ts';

/** Browsers cannot set headers for a WebSocket: OpenAI's SDKs send the key as a subprotocol there. */
const keyProtocol = 'openai-insecure-api-key.';

/** The headers with a key that came as a subprotocol, or in the query, where Google's SDKs have it. */
export function withProtocolKey(headers: IncomingHttpHeaders, search = ''): IncomingHttpHeaders {
  const key = protocolsOf(headers).find((protocol) => protocol.startsWith(keyProtocol));
  const sent = key?.slice(keyProtocol.length) ?? new URLSearchParams(search).get('key');
  if (sent === null) return headers;
  // A separate header: two different keys are still refused. Tokens count in the header of tokens alone.
  return { ...headers, 'x-goog-api-key': sent, authorization: headers.authorization ?? `Bearer ${sent}` };
}

/** Subprotocols that the caller offers. */
export function protocolsOf({ 'sec-websocket-protocol': offered = '' }: IncomingHttpHeaders): string[] {
  return offered.split(',').map((protocol) => protocol.trim());
}

/** A 400 for a handshake that no WebSocket can come of (RFC 6455 §4.2.1); null: it is in order. */
export function handshakeFault({ headers }: Exchange['request']): Failure | null {
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? '')) {
    return invalid(null, 'The header Sec-WebSocket-Key is missing or wrong.');
  }
  if (headers['sec-websocket-version'] !== '13') return invalid(null, 'The header Sec-WebSocket-Version must be 13.');
  return null;
}

/**
 * Accepts the WebSocket of an exchange, whose response is not used after that. It is paused until its first listener; a
 * message longer than `messageBytesMax` ends it with 1009. Null: the caller has left.
 */
export async function acceptWebSocket(
  exchange: Exchange,
  { headers, messageBytesMax }: { headers: readonly string[]; messageBytesMax: number },
): Promise<WebSocket | null> {
  const { request, response, upgrade } = exchange;
  const { socket, head, stopWatching } = upgrade!;
  const { WebSocketServer } = await importWs();
  stopWatching();
  await nextTurn();
  if (socket.destroyed || exchange.client.disconnected) return null;
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: messageBytesMax,
    handleProtocols: (offered) => chosenProtocol(offered) ?? false,
  });
  server.on('headers', (lines: string[]) => {
    const sent = [...identityHeaders(exchange), ...headers];
    for (let at = 0; at < sent.length; at += 2) lines.push(`${sent[at]}: ${sent[at + 1]}`);
  });
  response.detachSocket(socket as Parameters<typeof response.detachSocket>[0]);
  response.statusCode = 101;
  return new Promise((resolve) => {
    const left = () => resolve(null);
    socket.once('close', left);
    server.handleUpgrade(request, socket, head, (webSocket) => {
      socket.off('close', left);
      webSocket.pause();
      resolve(webSocket);
    });
  });
}

/** A browser gives up when none of those that it offers is chosen. The key is not repeated. */
function chosenProtocol(offered: ReadonlySet<string>): string | undefined {
  return offered.has('realtime') ? 'realtime' : [...offered].find((protocol) => !protocol.startsWith(keyProtocol));
}

/**
 * Notices a caller who leaves while its connection is not a WebSocket yet: nothing reads such a connection, and it may
 * be open on one side. Takes no bytes. The result ends the watch; a reader may begin in the turn of the loop after it.
 */
export function watchForEnd(socket: Duplex, response: ServerResponse): () => void {
  const look = () => {
    // At the end of all bytes this makes it emit `end`.
    if (socket.readableLength === 0) socket.read();
  };
  const left = () => {
    if (!response.headersSent) socket.destroy();
  };
  socket.on('readable', look).once('end', left);
  return () => socket.off('readable', look).off('end', left);
}
