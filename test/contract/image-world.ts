import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { crc32, deflateSync } from 'node:zlib';
import { startGateway, type TestGateway } from '../start-gateway.ts';

export const imagesPath = '/v1/images/generations';

/** A call that an upstream got. */
export interface DrawCall {
  path: string;
  headers: IncomingMessage['headers'];
  body: Record<string, unknown>;
  /** The unchanged body, for forms. */
  raw: Buffer;
}

/** Its answer: a status and JSON, or a function of the response. */
export type Drawing = { status?: number; json: unknown } | ((response: ServerResponse, call: DrawCall) => void);

export interface DrawingUpstream {
  url: string;
  /** In the order in which they came. */
  calls: DrawCall[];
  /** How many calls ran at one time, at most. */
  atOnce: number;
  /** The next answers, one each; then `usually` again. */
  script: Drawing[];
  close(): Promise<void>;
}

/** A server that draws as the test tells it. */
export async function startDrawing(usually: (call: DrawCall) => Drawing): Promise<DrawingUpstream> {
  let running = 0;
  const upstream: DrawingUpstream = { url: '', calls: [], atOnce: 0, script: [], close };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks);
    const json = request.headers['content-type']?.startsWith('application/json') ?? false;
    const call: DrawCall = {
      path: request.url ?? '',
      headers: request.headers,
      body: json ? (JSON.parse(raw.toString()) as Record<string, unknown>) : {},
      raw,
    };
    if (request.method !== 'POST') return answer(response, call, usually(call));
    upstream.calls.push(call);
    upstream.atOnce = Math.max(upstream.atOnce, ++running);
    response.on('close', () => running--);
    answer(response, call, upstream.script.shift() ?? usually(call));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  upstream.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return upstream;

  function close(): Promise<void> {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  }
}

function answer(response: ServerResponse, call: DrawCall, drawing: Drawing): void {
  if (typeof drawing === 'function') return drawing(response, call);
  response.writeHead(drawing.status ?? 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(drawing.json));
}

/** A whole PNG; `noise` bytes beside its pixels make it as large as wanted. */
export function png(shade = 128, noise = Buffer.alloc(0)): Buffer {
  const header = Buffer.from('00000001000000010800000000', 'hex');
  const text = noise.length === 0 ? [] : [chunk('teXt', noise)];
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    ...text,
    chunk('IDAT', deflateSync(Buffer.from([0, shade]))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

export const jpeg = Buffer.from('ffd8ffe000104a46494600010100000100010000ffd9', 'hex');
export const webp = Buffer.from(`RIFF\x0e\0\0\0WEBPVP8L\x02\0\0\0\x2f\0`, 'latin1');

/** As OpenAI's format has it: `n` images in base64, each with its own shade. */
export function inBase64({ body }: DrawCall): Drawing {
  const n = typeof body.n === 'number' ? body.n : 1;
  return { json: { created: 1, data: Array.from({ length: n }, (_, i) => ({ b64_json: png(i).toString('base64') })) } };
}

export interface Drawn {
  created: number;
  data: { url?: string; b64_json?: string; revised_prompt?: string }[];
  usage?: unknown;
}

export interface ImageWorld {
  gateway: TestGateway;
  ask(json: unknown, init?: RequestInit): Promise<Response>;
  /** The answer of a request that succeeds. */
  draw(json: unknown): Promise<Drawn>;
  record(response: Response): Promise<ImageRecord>;
}

export interface ImageRecord {
  status: number;
  units: number;
  cost_usd: number | null;
  usage: { input_tokens: number; output_tokens: number; images: number; source: string };
  route: {
    losses: { field: string }[];
    attempts: { target: string; class: string; message: string | null; usage: { images?: number } | null }[];
  };
}

export async function imageWorld(t: Pick<TestContext, 'after'>, config: Record<string, unknown>): Promise<ImageWorld> {
  const gateway = await startGateway(t, { simulator: 'off', ...config });
  await gateway.modelsKnown;
  const ask = (json: unknown, init: RequestInit = {}) => gateway.fetch(imagesPath, { json, ...init });
  return {
    gateway,
    ask,
    async draw(json) {
      const response = await ask(json);
      const text = await response.text();
      assert.equal(response.status, 200, text);
      return JSON.parse(text) as Drawn;
    },
    async record(response) {
      const id = response.headers.get('x-culvert-request-id');
      const found = await gateway.fetch(`/v1/requests/${id}`);
      assert.equal(found.status, 200);
      return (await found.json()) as ImageRecord;
    },
  };
}
