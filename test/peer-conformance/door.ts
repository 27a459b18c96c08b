import { randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { isObject } from '../../src/kernel/json.ts';
import { parsed } from '../conformance/exchange.ts';

/** A path before the vendors' own, and what Culvert has instead. */
export interface Base {
  from: string;
  to: string;
}

/**
 * What a peer's tests have written into them, said as Culvert's users say it: the port, the paths before the vendors'
 * own, the key, and the two calls by which LiteLLM's tests make keys. Everything else passes as it is.
 */
export interface Door {
  url: string;
  close(): Promise<void>;
}

export interface DoorOptions {
  gateway: string;
  key: string;
  adminKey: string;
  /** A free one for null. */
  port: number | null;
  bases: readonly Base[];
  /** Keys that stand for `key`; one that ends in `*` means all that begin so. */
  keys: readonly string[];
}

/** LiteLLM's calls that make a key. */
const keyMakers: readonly string[] = ['/key/generate', '/user/new'];

/** Rejects when the port is taken. */
export async function startDoor(options: DoorOptions): Promise<Door> {
  const there = new URL(options.gateway);
  const server = createServer((request, response) => {
    if (request.method === 'POST' && keyMakers.includes(request.url ?? '')) {
      void makeKey(options, request).then(({ status, body }) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(body),
      );
      return;
    }
    const onward = send({ host: there.hostname, port: there.port, ...said(request, options) }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  server.on('upgrade', (request, socket, head) => {
    const onward = send({ host: there.hostname, port: there.port, ...said(request, options) });
    onward.on('upgrade', (answer, other, first) => {
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines(answer.rawHeaders)}\r\n`);
      socket.write(first);
      other.write(head);
      other.pipe(socket).pipe(other);
      other.on('error', () => socket.destroy());
      socket.on('error', () => other.destroy());
    });
    onward.on('response', ({ statusCode, statusMessage }) =>
      socket.end(`HTTP/1.1 ${statusCode} ${statusMessage}\r\ncontent-length: 0\r\n\r\n`),
    );
    onward.on('error', () => socket.destroy());
    onward.end();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

function said({ method, url = '/', headers }: IncomingMessage, { bases, keys, key }: DoorOptions) {
  const base = bases.find(({ from }) => url.startsWith(`${from}/`));
  return {
    method,
    path: base === undefined ? url : base.to + url.slice(base.from.length),
    headers: withKey(headers, keys, key),
  };
}

/** A signature of AWS's covers the path, which is another now: the key says as much. */
function withKey(headers: IncomingHttpHeaders, keys: readonly string[], key: string): IncomingHttpHeaders {
  const { authorization } = headers;
  if (authorization?.startsWith(`AWS4-HMAC-SHA256 Credential=${key}/`)) {
    return { ...headers, authorization: `Bearer ${key}` };
  }
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const [, bearer = '', given = ''] = /^(Bearer )?(.*)$/.exec(String(value)) ?? [];
      return [name, keys.some((one) => isMeant(one, given)) ? bearer + key : value];
    }),
  );
}

function isMeant(key: string, given: string): boolean {
  return key.endsWith('*') ? given.startsWith(key.slice(0, -1)) : given === key;
}

/** A key of Culvert's for the models that the body names, in the form of LiteLLM's answer. */
async function makeKey(
  { gateway, adminKey }: DoorOptions,
  request: IncomingMessage,
): Promise<{ status: number; body: string }> {
  const asked = parsed(await text(request));
  const models = isObject(asked) && Array.isArray(asked.models) && asked.models.length > 0 ? asked.models : null;
  const made = await fetch(`${gateway}/admin/v1/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ account: 'dev', name: randomUUID(), ...(models !== null && { models }) }),
  });
  const body = await made.text();
  if (!made.ok) return { status: made.status, body };
  const { key, id } = JSON.parse(body) as { key: string; id: string };
  return { status: 200, body: JSON.stringify({ key, token: id, user_id: id, models: models ?? [] }) };
}

function lines(rawHeaders: readonly string[]): string {
  return rawHeaders.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
}
