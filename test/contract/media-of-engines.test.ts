import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* Engines in the operator's network get no addresses: they would fetch them with their reach there. */

const t = { after } as TestContext;
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
/** More than the loop parses of a body. */
const large = Buffer.concat([png, Buffer.alloc(2 * 1024 * 1024)]);
const asked: string[] = [];
const url = await listening(
  t,
  createServer((request, response) => {
    asked.push(request.url!);
    if (request.url === '/moved') return response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
    if (request.url === '/large') return response.writeHead(200, { 'content-type': 'image/png' }).end(large);
    const type = request.url === '/clip' ? 'video/mp4' : 'image/png';
    return response.writeHead(200, { 'content-type': type }).end(png);
  }),
);
const upstream = await startUpstream();
after(upstream.close);
const base_url = `${upstream.url}/v1`;
const gateway = await startGateway(t, {
  providers: {
    vllm: { type: 'vllm', base_url, dialects: ['openai-chat', 'openai-responses'] },
    localai: { type: 'localai', base_url },
    openai: { type: 'openai', base_url, api_key: 'k' },
  },
  models: {
    vllm: { targets: ['vllm/mock/ok'] },
    localai: { targets: ['localai/mock/ok'] },
    'local-vectors': { type: 'embedding', targets: ['localai/vectors'] },
    'local-pictures': { type: 'image', targets: ['localai/pictures'] },
    openai: { targets: ['openai/mock/ok'] },
  },
  fetch: { allow_private: [new URL(url).host] },
});

const sent = () => upstream.requests().findLast(({ method }) => method === 'POST')?.body as Record<string, unknown>;
const question = { type: 'text', text: 'What is it?' };
const chat = (model: string, part: object, before: object = question, after: object = question) => {
  upstream.clear();
  const messages = [{ role: 'user', content: [before, part, after] }];
  return gateway.fetch('/v1/chat/completions', { json: { model, messages, top_k: 7 } });
};

test('an engine that ranks is asked for no picture by its address, and gets one that is sent', async () => {
  const picture = (address: string) => ({ content: [{ type: 'image_url', image_url: { url: address } }] });
  const inline = `data:image/png;base64,${png.toString('base64')}`;
  for (const [query, documents, param] of [
    ['Cats', ['a text', picture(`${url}/rank`)], 'documents[1].content[0]'],
    [picture('file:///etc/passwd'), ['a text'], 'query.content[0]'],
    ['Cats', [{ IMAGE_URL: `${url}/rank` }], 'documents[0]'],
  ] as const) {
    upstream.clear();
    const refused = await gateway.fetch('/v1/rerank', { json: { model: 'vllm', query, documents } });
    const { error } = (await refused.json()) as { error: { param: string } };
    assert.deepEqual([refused.status, error.param, sent()], [400, param, undefined]);
  }
  const passed = await gateway.fetch('/v1/rerank', {
    json: { model: 'vllm', query: 'http://cats.example', documents: [picture(inline), { text: `${url}/rank` }] },
  });
  assert.equal(passed.status, 200, await passed.text());
  assert.ok(JSON.stringify(sent()).includes(inline));
  assert.ok(!asked.includes('/rank'));
});

test('an engine that reads the messages of a chat in every body gets none of other endpoints', async () => {
  const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: `${url}/beside` } }] }];
  for (const name of ['messages', 'Messages', 'MESSAGES']) {
    upstream.clear();
    const json = { model: 'localai', prompt: 'a', [name]: messages };
    const refused = await gateway.fetch('/v1/completions', { json });
    const { error } = (await refused.json()) as { error: { param: string } };
    assert.deepEqual([refused.status, error.param, sent()], [400, `${name}[0].content[0]`, undefined]);
    for (const [path, body] of [
      ['/v1/embeddings', { model: 'local-vectors', input: 'a' }],
      ['/v1/images/generations', { model: 'local-pictures', prompt: 'a', file: `${url}/beside`, Ref_Images: [url] }],
    ] as const) {
      const answer = await gateway.fetch(path, { json: { ...body, [name]: messages, seed: 7 } });
      assert.equal(answer.status, 200, await answer.text());
      assert.match(answer.headers.get('x-culvert-dropped') ?? '', new RegExp(name));
      assert.ok(!JSON.stringify(sent()).includes(url), JSON.stringify(sent()));
      assert.equal(sent().seed, 7);
    }
  }
  assert.ok(!asked.includes('/beside'));
});

test('what a caller names by address is fetched here, and the engine gets its content and all other fields', async () => {
  const inline = `data:image/png;base64,${png.toString('base64')}`;
  for (const [part, wanted] of [
    [
      { type: 'image_url', image_url: { url: `${url}/a`, detail: 'low' } },
      { url: inline, detail: 'low' },
    ],
    [{ type: 'image_url', image_url: { url: inline } }, { url: inline }],
    [{ type: 'video_url', video_url: { url: `${url}/clip` } }, { url: inline.replace('image/png', 'video/mp4') }],
  ] as const) {
    const answer = await chat('vllm', part);
    assert.equal(answer.status, 200, await answer.text());
    const { messages, top_k } = sent() as { messages: [{ content: [object, Record<string, unknown>] }]; top_k: number };
    assert.deepEqual([messages[0].content[1][part.type], top_k], [wanted, 7]);
  }
  assert.deepEqual(asked.splice(0), ['/a', '/clip']);
});

test('a picture that makes the body larger than what the loop parses is as good as a small one', async () => {
  const answer = await chat('vllm', { type: 'image_url', image_url: { url: `${url}/large` } });
  assert.equal(answer.status, 200, await answer.text());
  // The upstream records the beginning alone.
  assert.ok(JSON.stringify(sent()).includes(`data:image/png;base64,${png.toString('base64').slice(0, 20)}`));
  assert.deepEqual(asked.splice(0), ['/large']);
});

test('no engine is asked for private addresses and paths, in any spelling of a field', async () => {
  for (const place of [
    'http://169.254.169.254/latest',
    'file:///etc/passwd',
    '/etc/logo.png',
    `${url}/moved`,
    'x.png',
  ]) {
    for (const part of [
      { type: 'image_url', image_url: { url: place } },
      { type: 'image_url', image_url: place },
      { type: 'audio_url', audio_url: { url: place } },
      { type: 'video_url', video_url: { url: place } },
      { type: 'image_url', Image_URL: { URL: place } },
    ]) {
      for (const model of ['vllm', 'localai']) {
        const answer = await chat(model, part);
        const text = await answer.text();
        assert.equal(answer.status, 400, `${JSON.stringify(part)} ${text}`);
        assert.match(text, /"param":"messages\[0\]\.content\[1\]/);
        assert.equal(sent(), undefined);
      }
    }
  }
});

test('a body that a thread reads is no exception', async () => {
  const long = { type: 'text', text: 'x'.repeat(1_200_000) };
  const refused = await chat('vllm', { type: 'image_url', image_url: { url: 'http://10.0.0.1/a' } }, question, long);
  assert.equal(refused.status, 400, await refused.text());
  const answer = await chat('vllm', { type: 'image_url', image_url: { url: `${url}/a` } }, question, long);
  assert.equal(answer.status, 200, await answer.text());
  assert.ok(JSON.stringify(sent()).includes(png.toString('base64')));
});

test('bodies of Responses and Messages lead no engine to private addresses either', async () => {
  const ask = (path: string, json: object) => {
    upstream.clear();
    return gateway.fetch(path, { json: { model: 'vllm', store: false, ...json } });
  };
  for (const place of ['https://10.0.0.1/a', 'https://localhost/a', 'https://169.254.169.254/']) {
    const picture = { type: 'image', source: { type: 'url', url: place } };
    for (const [path, json] of [
      ['/v1/responses', { input: [{ role: 'user', content: [{ type: 'input_image', image_url: place }] }] }],
      ['/v1/messages', { max_tokens: 9, messages: [{ role: 'user', content: [picture] }] }],
    ] as const) {
      const answer = await ask(path, json);
      assert.equal(answer.status, 400, `${path} ${place} ${await answer.text()}`);
      assert.equal(sent(), undefined);
    }
  }
  const image_url = `data:image/png;base64,${png.toString('base64')}`;
  const input = [{ role: 'user', content: [{ type: 'input_image', image_url }] }];
  assert.equal((await ask('/v1/responses', { input })).status, 200);
  assert.ok(JSON.stringify(sent()).includes(image_url));
});

test('content stays as it is, and a provider elsewhere gets addresses', async () => {
  asked.length = 0;
  const data = 'aGk=';
  assert.equal((await chat('vllm', { type: 'input_audio', input_audio: { data, format: 'wav' } })).status, 200);
  const file = { type: 'file', file: { file_data: 'http://10.0.0.1/a.pdf', filename: 'a.pdf' } };
  assert.equal((await chat('localai', file)).status, 400);
  const answer = await chat('openai', { type: 'image_url', image_url: { url: `${url}/c` } });
  assert.equal(answer.status, 200);
  assert.ok(JSON.stringify(sent()).includes(`${url}/c`));
  assert.deepEqual(asked, []);
});
