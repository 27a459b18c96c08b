import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { qdrantRequestFaults } from './spec/qdrant-request.ts';

export interface QdrantCall {
  method: string;
  /** With its query. */
  path: string;
  apiKey: string | undefined;
  /** Null when there was none. */
  body: unknown;
}

/** `reset`: the connection ends without an answer. `silence`: it stays open and nothing comes. */
export type QdrantReply = { status: number; body: unknown } | 'reset' | 'silence';

export interface ScriptedQdrant {
  url: string;
  /** Oldest first. Each was as Qdrant's description has it. */
  calls: QdrantCall[];
}

/** A Qdrant that answers as `reply` says; every request is checked against Qdrant's own description. */
export async function startScriptedQdrant(
  t: Pick<TestContext, 'after'>,
  reply: (call: QdrantCall, number: number) => QdrantReply,
): Promise<ScriptedQdrant> {
  const calls: QdrantCall[] = [];
  const faults: string[] = [];
  const server = createServer(async (request, response) => {
    const text = await textOf(request);
    const [method, path] = [request.method ?? '', request.url ?? ''];
    faults.push(...qdrantRequestFaults(method, path, text).map((fault) => `${method} ${path}: ${fault}`));
    const apiKey = request.headers['api-key'];
    const call = { method, path, apiKey: apiKey?.toString(), body: text === '' ? null : JSON.parse(text) };
    calls.push(call);
    const answer = reply(call, calls.length);
    if (answer === 'silence') return;
    if (answer === 'reset') {
      request.socket.destroy();
      return;
    }
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
    assert.deepEqual(faults, []);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}

/** An answer as Qdrant writes it. */
export function done(result: unknown): QdrantReply {
  return { status: 200, body: { result, status: 'ok', time: 0.001 } };
}

export function refused(status: number, error: string): QdrantReply {
  return { status, body: { status: { error }, time: 0.001 } };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of request.setEncoding('utf8')) text += piece;
  return text;
}
