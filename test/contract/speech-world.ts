import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { startGateway, type TestGateway } from '../start-gateway.ts';

export const speechPath = '/v1/audio/speech';

/** One call of a speaking upstream. */
export interface Spoken {
  path: string;
  headers: IncomingMessage['headers'];
  body: Record<string, unknown>;
  /** Resolves when the connection of the call has closed. */
  closed: Promise<void>;
}

export type Answer = (call: Spoken, response: ServerResponse) => void;

/** An upstream that answers as a test wants; by default with `tone` in the requested format. */
export interface SpeakingUpstream {
  url: string;
  calls: Spoken[];
  /** The next calls get these answers, one each. */
  next(...answers: Answer[]): void;
  /** Resolves with the first call, also one that has been. */
  called(): Promise<Spoken>;
}

export async function startSpeaking(
  t: Pick<TestContext, 'after'>,
  gets: Readonly<Record<string, unknown>> = {},
): Promise<SpeakingUpstream> {
  const calls: Spoken[] = [];
  let answers: Answer[] = [];
  let told: ((call: Spoken) => void)[] = [];
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      const found = gets[request.url!];
      response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' });
      return response.end(JSON.stringify(found ?? { error: { message: 'not found' } }));
    }
    let text = '';
    for await (const chunk of request) text += chunk;
    const body = JSON.parse(text) as Record<string, unknown>;
    const closed = new Promise<void>((resolve) => response.on('close', () => resolve()));
    const call = { path: request.url!, headers: request.headers, body, closed };
    calls.push(call);
    for (const tell of told) tell(call);
    told = [];
    (answers.shift() ?? speakAsAsked)(call, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    next(...next) {
      answers = next;
    },
    called: () => (calls[0] === undefined ? new Promise((resolve) => told.push(resolve)) : Promise.resolve(calls[0])),
  };
}

/** A second of 440 Hz, s16le, 24 kHz. */
export const tone: Buffer = (() => {
  const samples = Buffer.alloc(48_000);
  for (let i = 0; i < 24_000; i++)
    samples.writeInt16LE(Math.round(9_000 * Math.sin((i * 440 * 2 * Math.PI) / 24_000)), i * 2);
  return samples;
})();

/** The same as a wav file, as one that streams writes it. */
export const toneWav: Buffer = (() => {
  const header = Buffer.alloc(44);
  header.write('RIFF\xff\xff\xff\xffWAVEfmt ', 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(24_000, 24);
  header.writeUInt32LE(48_000, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data\xff\xff\xff\xff', 36, 'latin1');
  return Buffer.concat([header, tone]);
})();

/** Bytes that begin as each format does; nobody decodes them. */
export const bytesOf: Readonly<Record<string, Buffer>> = {
  mp3: Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0xc4]), Buffer.alloc(2_000, 7)]),
  wav: toneWav,
  opus: Buffer.concat([Buffer.from('OggS\0\x02'), Buffer.alloc(2_000, 8)]),
  flac: Buffer.concat([Buffer.from('fLaC\0\0\0\x22'), Buffer.alloc(2_000, 9)]),
  aac: Buffer.concat([Buffer.from([0xff, 0xf1, 0x50, 0x80]), Buffer.alloc(2_000, 10)]),
  pcm: tone,
};

export const speakAsAsked: Answer = ({ body }, response) => {
  response.writeHead(200, { 'content-type': 'audio/whatever' }).end(bytesOf[body.response_format as string]);
};

export function answerJson(status: number, json: unknown): Answer {
  return (_, response) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
}

export interface SpeechWorld {
  gateway: TestGateway;
  first: SpeakingUpstream;
  second: SpeakingUpstream;
  /** Asks alias `s` in the voice `alloy`, unless it says otherwise. */
  say(
    json?: Record<string, unknown>,
    init?: { headers?: Record<string, string>; signal?: AbortSignal },
  ): Promise<Response>;
  /** The ledger's record of a request. */
  record(response: Response): Promise<SpeechRecord>;
}

export interface SpeechRecord {
  status: number;
  class: string;
  units: number;
  aborted: boolean;
  cost_usd: number | null;
  usage: { input_tokens: number; characters?: number; source: string };
  route: { losses: { field: string }[]; attempts: { target: string; class: string; message: string | null }[] };
}

/** Alias `s` over two servers of OpenAI's format at addresses of their own, the second after the first. */
export async function speechWorld(
  t: Pick<TestContext, 'after'>,
  config: Record<string, unknown> = {},
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<SpeechWorld> {
  const [first, second] = await Promise.all([startSpeaking(t), startSpeaking(t)]);
  const provider = ({ url }: SpeakingUpstream) => ({
    type: 'openai',
    base_url: `${url}/v1`,
    api_key: 'upstream-secret',
  });
  const gateway = await startGateway(
    t,
    {
      ...config,
      providers: { one: provider(first), two: provider(second), ...(config.providers as object) },
      models: {
        s: {
          type: 'speech',
          targets: [
            { provider: 'one', model: 'voice-1', price: { million_chars: 15 } },
            { provider: 'two', model: 'voice-2', priority: 2 },
          ],
        },
        ...(config.models as object),
      },
    },
    { env },
  );
  return {
    gateway,
    first,
    second,
    say: (json = {}, init = {}) =>
      gateway.fetch(speechPath, { json: { model: 's', voice: 'alloy', input: 'Hello there.', ...json }, ...init }),
    async record(response) {
      const found = await gateway.fetch(`/v1/requests/${response.headers.get('x-culvert-request-id')}`);
      assert.equal(found.status, 200);
      return (await found.json()) as SpeechRecord;
    },
  };
}
