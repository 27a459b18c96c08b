import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isObject, type JsonObject } from '../../src/kernel/json.ts';
import { type Exchange, parsed } from './exchange.ts';

/** An upstream that answers each POST with its present exchange, whatever is asked. */
export interface Player {
  /** Without a path: base URLs add their own. */
  url: string;
  /** Its answers from now on. */
  play(exchange: Exchange): void;
  /** Bodies of the POSTs since `play`, oldest first. */
  asked(): readonly JsonObject[];
  close(): Promise<void>;
}

/** On a free port of this machine's loopback. */
export async function startPlayer(): Promise<Player> {
  let playing: Exchange | null = null;
  let asked: JsonObject[] = [];
  const server = createServer((request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"object":"list","data":[]}');
      request.resume();
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = parsed(Buffer.concat(chunks).toString('utf8'));
      if (isObject(body)) asked.push(body);
      if (playing === null) return response.writeHead(404).end();
      const { status } = playing;
      const { type, text } = onWire(playing);
      response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) }).end(text);
    });
  });
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    play(exchange) {
      playing = exchange;
      asked = [];
    },
    asked: () => asked,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

function onWire({ answer, form }: Exchange): { type: string; text: string } {
  if (form === 'streamed') return { type: 'text/event-stream', text: answer };
  const value = parsed(answer);
  // Google streams an array to clients that do not ask for SSE; we do.
  if (Array.isArray(value) && value.every(isObject)) {
    return { type: 'text/event-stream', text: value.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('') };
  }
  return { type: 'application/json', text: answer };
}
