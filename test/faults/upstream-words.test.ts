import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { listening } from '../listening.ts';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';

/*
 * An upstream that repeats the credential of a request wherever it has words: the field of an error that holds it
 * differs by service, and by how the request came there.
 */

/** Looks like no key: only who knows it finds it. */
const secret = 'plainly-not-a-key';
const headerSecret = 'tenant-of-ours-abc';

const everywhere = {
  message: `wrong key ${secret} of ${headerSecret}`,
  code: secret,
  type: secret,
  param: secret,
  status: secret,
  reason: headerSecret,
  details: [{ reason: secret, metadata: { key: secret, [secret]: 1 } }],
  failed_generation: secret,
};
const errorBody = { ...everywhere, error: everywhere, detail: everywhere.message, errors: [everywhere] };

type Mode = 'status' | 'in-200' | 'first-frame' | 'last-frame';

/** Fails as `mode` says, in every format at once. */
async function failingUpstream(t: TestContext) {
  const state: { mode: Mode; status: number } = { mode: 'status', status: 400 };
  const server = createServer((request, response) => {
    request.resume().on('end', () => answer(response, request.url ?? ''));
  });
  const answer = (response: ServerResponse, url: string) => {
    const { mode, status } = state;
    if (mode === 'status' || mode === 'in-200') {
      const head = {
        'content-type': 'application/json',
        'x-request-id': secret,
        'x-error': secret,
        'retry-after': '0',
      };
      response.writeHead(mode === 'status' ? status : 200, head).end(JSON.stringify(errorBody));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': secret });
    if (mode === 'last-frame') response.write(contentFrames(url));
    const failed = {
      type: 'response.failed',
      sequence_number: 3,
      response: { id: 'r', object: 'response', status: 'failed', output: [], error: everywhere },
    };
    response.end(
      url.includes('/responses')
        ? `event: response.failed\ndata: ${JSON.stringify(failed)}\n\n`
        : `event: error\ndata: ${JSON.stringify({ ...errorBody, type: 'error' })}\n\n`,
    );
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, state };
}

/** Content that a caller sees before the error. */
function contentFrames(url: string): string {
  const frame = (event: string, data: object) => `${event && `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
  if (url.includes('/messages')) {
    return [
      frame('message_start', {
        type: 'message_start',
        message: {
          id: 'm',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      }),
      frame('content_block_start', {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'text', text: '' },
      }),
      frame('content_block_delta', {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text: 'Hi' },
      }),
    ].join('');
  }
  if (url.includes('/responses')) {
    return [
      frame('response.created', {
        type: 'response.created',
        sequence_number: 0,
        response: { id: 'r', object: 'response', status: 'in_progress', output: [] },
      }),
      frame('response.output_text.delta', {
        type: 'response.output_text.delta',
        sequence_number: 1,
        item_id: 'i',
        output_index: 0,
        content_index: 0,
        delta: 'Hi',
      }),
    ].join('');
  }
  if (url.includes('Content'))
    return frame('', { candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] } }] });
  return frame('', {
    id: 'c',
    object: 'chat.completion.chunk',
    model: 'm',
    choices: [{ index: 0, delta: { content: 'Hi' } }],
  });
}

const messages = [{ role: 'user', content: 'Hi' }];
const conversations = (model: string, stream: boolean) => [
  { path: '/v1/chat/completions', json: { model, messages, stream } },
  { path: '/v1/messages', json: { model, messages, max_tokens: 9, stream } },
  { path: '/v1/responses', json: { model, input: 'Hi', stream } },
  {
    path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    json: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  },
];

/** Everything that a caller, an operator or the log reads of this answer. */
async function readAll(gateway: TestGateway, response: Response): Promise<string> {
  let read = `${JSON.stringify([...response.headers])}${await response.text()}`;
  const id = response.headers.get('x-culvert-request-id');
  if (id === null) return read;
  read += await (await gateway.fetch(`/v1/requests/${id}`)).text();
  const headers = { authorization: `Bearer ${adminKey}` };
  read += await (await fetch(`${gateway.url}/admin/v1/requests/${id}`, { headers })).text();
  read += await (await fetch(`${gateway.url}/admin/v1/requests/${id}/explain`, { headers })).text();
  return read;
}

async function start(t: TestContext) {
  const upstream = await failingUpstream(t);
  let log = '';
  const shared = { api_key: secret, headers: { 'x-tenant': headerSecret } };
  const up = (type: string, more: object = {}) => ({ type, base_url: `${upstream.url}/v1`, ...shared, ...more });
  const providers = {
    chat: up('openai', { passthrough: true }),
    responses: up('openai', { dialects: ['openai-responses'] }),
    anthropic: up('anthropic', { base_url: upstream.url }),
    gemini: up('gemini', { base_url: `${upstream.url}/v1beta` }),
    cohere: up('cohere'),
    bedrock: up('bedrock', { region: 'eu-central-1' }),
    replicate: up('replicate'),
  };
  const models = Object.fromEntries(
    Object.keys(providers).map((name) => [
      `of-${name}`,
      { targets: [`${name}/m`], attempts: 1, timeouts: { first_token: '500ms', total: '3s' } },
    ]),
  );
  const gateway = await startGateway(
    t,
    { providers, models },
    {
      log: pino(
        { level: 'trace' },
        {
          write: (line: string) => {
            log += line;
          },
        },
      ),
    },
  );
  const leaks = new Set<string>();
  const look = (read: string, what: string) => {
    for (const one of [secret, headerSecret]) {
      const at = read.indexOf(one);
      if (at !== -1) leaks.add(`${what}: ${read.slice(Math.max(0, at - 120), at + one.length)}`);
    }
  };
  return { gateway, upstream, look, leaks, log: () => log };
}

test('S36 no word of an upstream’s error shows the credential: message, code, type, param, members, headers', async (t) => {
  const { gateway, upstream, look, leaks, log } = await start(t);
  let calls = 0;
  for (const [mode, status] of [
    ['status', 400],
    ['status', 401],
    ['status', 500],
    ['in-200', 200],
    ['first-frame', 200],
    ['last-frame', 200],
  ] as const) {
    Object.assign(upstream.state, { mode, status });
    for (const provider of ['chat', 'responses', 'anthropic', 'gemini', 'cohere', 'bedrock']) {
      for (const stream of [false, true]) {
        for (const { path, json } of conversations(`of-${provider}`, stream)) {
          const response = await gateway.fetch(path, { json });
          look(await readAll(gateway, response), `${mode} ${status} ${provider} ${path} stream=${stream}`);
          calls += 1;
        }
      }
    }
  }
  assert.ok(calls > 250, String(calls));
  look(log(), 'log');
  assert.ok(log().includes('"msg":"request"'), 'the log was written');
  assert.deepEqual([...leaks], []);
});

test('S36 the same holds of every other endpoint, and of passthrough', async (t) => {
  const { gateway, upstream, look, leaks, log } = await start(t);
  const form = (fields: Record<string, string>) => {
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) body.set(name, value);
    body.set('file', new Blob([new Uint8Array(2_000)], { type: 'audio/wav' }), 'a.wav');
    return { method: 'POST', body };
  };
  for (const [mode, status] of [
    ['status', 400],
    ['status', 401],
    ['status', 500],
    ['in-200', 200],
    ['first-frame', 200],
  ] as const) {
    Object.assign(upstream.state, { mode, status });
    const calls: [string, RequestInit & { json?: unknown }][] = [];
    for (const model of ['of-chat', 'of-gemini', 'of-cohere', 'of-bedrock', 'of-replicate', 'of-anthropic']) {
      calls.push(
        ['/v1/embeddings', { json: { model, input: 'Hi' } }],
        ['/v1/images/generations', { json: { model, prompt: 'Hi' } }],
        ['/v1/images/generations', { json: { model, prompt: 'Hi', stream: true } }],
        ['/v1/audio/speech', { json: { model, input: 'Hi', voice: 'alloy' } }],
        ['/v1/audio/transcriptions', form({ model })],
        ['/v1/rerank', { json: { model, query: 'Hi', documents: ['a', 'b'] } }],
        ['/v1/moderations', { json: { model, input: 'Hi' } }],
        ['/v1/completions', { json: { model, prompt: 'Hi' } }],
        ['/v1/completions', { json: { model, prompt: 'Hi', stream: true } }],
        ['/v1/ocr', { json: { model, document: { type: 'document_url', document_url: 'https://a.example/a.pdf' } } }],
        ['/v1/videos', { json: { model, prompt: 'Hi' } }],
        ['/v1/messages/count_tokens', { json: { model, messages } }],
        ['/v1/realtime/calls', { method: 'POST', headers: { 'content-type': 'application/sdp' }, body: 'v=0' }],
      );
    }
    calls.push(['/passthrough/chat/anything', { json: { a: 1 } }], ['/passthrough/chat/anything', {}]);
    for (const [path, init] of calls) {
      const response = await gateway.fetch(path, init);
      look(await readAll(gateway, response), `${mode} ${status} ${path} ${JSON.stringify(init.json ?? '')}`);
    }
    for (const name of ['chat', 'anthropic', 'gemini', 'cohere', 'replicate', 'bedrock']) {
      const headers = { authorization: `Bearer ${adminKey}` };
      const tested = await fetch(`${gateway.url}/admin/v1/providers/${name}/test`, { method: 'POST', headers });
      look(await tested.text(), `${mode} ${status} test of ${name}`);
      for (const path of ['/providers', '/health', '/requests', '/alerts']) {
        look(await (await fetch(`${gateway.url}/admin/v1${path}`, { headers })).text(), `${mode} ${status} ${path}`);
      }
    }
  }
  look(log(), 'log');
  assert.deepEqual([...leaks], []);
});

test('S36 a credential that an error spells for JSON or a URL, or in base64, is not shown either', async (t) => {
  const odd = 'all "ours"/plain+words';
  const spellings = {
    json: JSON.stringify(odd).slice(1, -1),
    escaped: JSON.stringify(odd).slice(1, -1).replaceAll('/', '\\/'),
    url: encodeURIComponent(odd),
    base64: Buffer.from(odd).toString('base64'),
  };
  const server = createServer((request, response) => {
    const words = [odd, spellings.url, spellings.base64].join(' , ');
    const error = { message: `wrong key: ${words}`, type: 'x', code: spellings.base64, param: spellings.url };
    request.resume();
    response.writeHead(401, { 'content-type': 'application/json', 'x-seen': spellings.base64 });
    response.end(`{"raw":"${spellings.escaped}","error":${JSON.stringify(error)}}`);
  });
  const url = await listening(t, server);
  const provider = { type: 'openai', base_url: `${url}/v1`, api_key: odd, passthrough: true };
  const gateway = await startGateway(t, { providers: { up: provider }, models: { chat: { targets: ['up/m'] } } });
  const json = { model: 'chat', messages };
  for (const path of ['/v1/chat/completions', '/v1/messages', '/passthrough/up/anything']) {
    const read = await readAll(gateway, await gateway.fetch(path, { json }));
    for (const [how, spelled] of Object.entries(spellings)) {
      assert.ok(!read.includes(spelled), `${path}, ${how}: ${read}`);
    }
  }
});

test('S36 a token service that repeats what it was sent shows it to nobody', async (t) => {
  const service = createServer(async (request, response) => {
    let form = '';
    for await (const chunk of request) form += chunk;
    const sent = new URLSearchParams(form);
    const proof = sent.get('apikey') ?? sent.get('client_secret') ?? sent.get('client_assertion') ?? '';
    const words = `no ${proof} and no ${Buffer.from(proof).toString('base64')}`;
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ errorMessage: words, error_description: words }));
  });
  const url = await listening(t, service);
  const entra = { tenant_id: 't', client_id: 'c', client_secret: secret, authority: url };
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const gateway = await startGateway(
    t,
    {
      providers: {
        ibm: { type: 'watsonx', base_url: url, iam_url: url, api_key: secret, project: 'p1' },
        azure: { type: 'azure-openai', base_url: url, entra },
      },
      models: { ibm: { targets: ['ibm/a'] }, azure: { targets: ['azure/b'] } },
    },
    { log },
  );
  const seen: string[] = [];
  const asAdmin = { headers: { authorization: `Bearer ${adminKey}` } };
  for (const model of ['ibm', 'azure']) {
    const json = { model, messages: [{ role: 'user', content: 'Hello' }] };
    const response = await gateway.fetch('/v1/chat/completions', { json });
    assert.equal(response.status, 502);
    seen.push(await response.text());
    assert.match(seen.at(-1)!, /gave no token .*\[redacted\]/);
    const id = response.headers.get('x-culvert-request-id');
    seen.push(await (await gateway.fetch(`/v1/requests/${id}`)).text());
    seen.push(await (await fetch(`${gateway.url}/admin/v1/requests/${id}`, asAdmin)).text());
    const test = { ...asAdmin, method: 'POST' };
    seen.push(await (await fetch(`${gateway.url}/admin/v1/providers/${model}/test`, test)).text());
  }
  const encoded = Buffer.from(secret).toString('base64');
  for (const text of [...seen, ...lines]) assert.ok(!text.includes(secret) && !text.includes(encoded), text);
});
