import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { toFile } from 'openai';
import { batchWhen, beginBatch, chatLine, hasEnded, resultsIn } from '../batches/world.ts';
import { otherKey, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* Files of /v1/files, named by their ids in requests: providers get their content. */

const t = { after: after as TestContext['after'] };
const upstream = await startUpstream();
t.after(() => upstream.close());
const at = { base_url: `${upstream.url}/v1`, api_key: 'k' };
const aliases = ['chat', 'claude', 'native'] as const;
const gateway = await startGateway(t, {
  providers: {
    chat: { type: 'openai', ...at },
    claude: { type: 'anthropic', ...at },
    native: { type: 'openai', ...at, dialects: ['openai-chat', 'openai-responses'] },
  },
  models: Object.fromEntries(aliases.map((alias) => [alias, { targets: [`${alias}/mock/ok`] }])),
});
const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: testKey, maxRetries: 0 });

const pdf = Buffer.from('%PDF-1.4\n1 0 obj << >> endobj\n%%EOF');
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const contents = {
  'a.pdf': pdf,
  'b.png': png,
  'c.csv': 'name,legs\npanda,4',
  'd.json': '{"panda": "red"}',
  'e.md': '# Pändas',
};
const upload = async (name: string, content: Buffer | string, client = openai) =>
  (await client.files.create({ file: await toFile(Buffer.from(content), name), purpose: 'user_data' })).id;
const ids = {} as Record<keyof typeof contents, string>;
for (const [name, content] of Object.entries(contents))
  ids[name as keyof typeof contents] = await upload(name, content);

/** What the provider was sent, as text; texts within it are no longer escaped. */
function told(): string {
  const body = upstream.requests().findLast(({ method }) => method === 'POST')!.body;
  upstream.clear();
  return JSON.stringify(body).replaceAll('\\"', '"').replaceAll('\\n', '\n');
}

function holdsAll(body: string): void {
  assert.ok(body.includes(pdf.toString('base64')) && body.includes(png.toString('base64')));
  for (const name of ['c.csv', 'd.json', 'e.md'] as const) {
    // A gateway may send a text as what it is, or as a document.
    const text = contents[name];
    assert.ok(body.includes(text) || body.includes(Buffer.from(text).toString('base64')), name);
  }
  assert.ok(body.includes('a.pdf') && body.includes('c.csv'));
  for (const id of Object.values(ids)) assert.ok(!body.includes(id), id);
}

for (const model of aliases) {
  test(`Responses: input_file and input_image (${model})`, async () => {
    const files = Object.values(ids).map((file_id) => ({ type: 'input_file' as const, file_id }));
    const picture = { type: 'input_image' as const, file_id: ids['b.png'], detail: 'low' as const };
    await openai.responses.create({ model, input: [{ role: 'user', content: [...files, picture] }] });
    const body = told();
    holdsAll(body);
    assert.equal(body.split(png.toString('base64')).length, 3);
  });

  test(`chat: a part of type file (${model})`, async () => {
    const content = Object.values(ids).map((file_id) => ({ type: 'file' as const, file: { file_id } }));
    await openai.chat.completions.create({ model, messages: [{ role: 'user', content }] });
    holdsAll(told());
  });

  test(`Messages: a source of type file (${model})`, async () => {
    const sources = Object.values(ids).map((file_id) => ({ type: 'document', source: { type: 'file', file_id } }));
    const picture = { type: 'image', source: { type: 'file', file_id: ids['b.png'] } };
    const content = [...sources, picture] as unknown as Anthropic.ContentBlockParam[];
    await anthropic.messages.create({ model, max_tokens: 9, messages: [{ role: 'user', content }] });
    holdsAll(told());
  });
}

test('beside a file, an id that is no word is refused, or passed on where nothing is known of it', async () => {
  const wordless = { toString: 1 };
  const part = { type: 'file', file: { file_id: ids['c.csv'] } };
  const source = { type: 'file', file_id: ids['c.csv'] };
  const input = { type: 'input_file', file_id: ids['c.csv'] };
  const user = (...content: object[]) => [{ role: 'user', content }];
  for (const [path, json] of [
    ['chat/completions', { messages: user(part, { ...part, file: { file_id: wordless } }) }],
    [
      'messages',
      {
        max_tokens: 9,
        messages: user({ type: 'document', source }, { type: 'image', source: { ...source, file_id: wordless } }),
      },
    ],
    ['responses', { input: user(input, { ...input, file_id: wordless }) }],
  ] as const) {
    for (const model of aliases) {
      const { status } = await gateway.fetch(`/v1/${path}`, { json: { model, ...json } });
      assert.ok(status === 200 || status === 400, `${path} over ${model}: ${status}`);
    }
  }
  upstream.clear();
});

test('a file in the result of a tool is sent too', async () => {
  const output = [{ type: 'input_file' as const, file_id: ids['c.csv'] }];
  const call = { type: 'function_call' as const, call_id: 'c1', name: 'read', arguments: '{}' };
  await openai.responses.create({
    model: 'chat',
    input: [call, { type: 'function_call_output', call_id: 'c1', output }],
  });
  assert.match(told(), /panda,4/);
});

test('a kept response names the file, and the next turn sends its content again', async () => {
  const file = { type: 'input_file' as const, file_id: ids['c.csv'] };
  const first = await openai.responses.create({ model: 'claude', input: [{ role: 'user', content: [file] }] });
  const { data } = await openai.responses.inputItems.list(first.id);
  assert.match(JSON.stringify(data), new RegExp(ids['c.csv']));
  assert.doesNotMatch(JSON.stringify(data), /panda,4/);
  told();
  await openai.responses.create({ model: 'claude', input: 'And?', previous_response_id: first.id });
  assert.match(told(), /panda,4/);
});

test('the tokens of a file are counted', async () => {
  const source = { type: 'file', file_id: await upload('long.txt', 'word '.repeat(5_000)) };
  const content = [{ type: 'document', source }] as unknown as Anthropic.ContentBlockParam[];
  const counted = await anthropic.messages.countTokens({ model: 'chat', messages: [{ role: 'user', content }] });
  assert.ok(counted.input_tokens > 4_000);
});

test('a file of another key, one that was deleted and one that never was are unknown, with their field', async () => {
  const other = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: otherKey, maxRetries: 0 });
  const gone = await upload('gone.txt', 'gone');
  await openai.files.delete(gone);
  const foreign = await upload('theirs.txt', 'their secret', other);
  upstream.clear();
  for (const file_id of [foreign, gone, `${foreign.slice(0, -3)}abc`, 'file-abcdefghijklmnopqrstuv']) {
    const asked = { chat: { type: 'file', file: { file_id } }, field: 'messages[0].content[0].file.file_id' };
    const messages = [{ role: 'user', content: [asked.chat] }];
    const response = await gateway.fetch('/v1/chat/completions', { json: { model: 'chat', messages } });
    const { error } = (await response.json()) as { error: { param: string; message: string } };
    assert.deepEqual([response.status, error.param], [404, asked.field], file_id);
    assert.doesNotMatch(error.message, /secret/);
  }
  assert.equal(upstream.requests().length, 0);
});

test('an id that is none of ours goes on where an operator shares it', async (context) => {
  const own = await startGateway(context, {
    providers: { chat: { type: 'openai', ...at, shared_objects: ['file-theirs'] } },
    models: { chat: { targets: ['chat/mock/ok'] } },
  });
  const messages = [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-theirs' } }] }];
  assert.equal((await own.fetch('/v1/chat/completions', { json: { model: 'chat', messages } })).status, 200);
  assert.match(told(), /file-theirs/);
});

test('what cannot be sent is a 400 that names the field', async () => {
  const large = await upload('large.txt', 'x'.repeat(11 * 1024 * 1024));
  const binary = await upload('x.bin', Buffer.from([1, 2, 0, 255]));
  const mp3 = await toFile(Buffer.from([255, 251, 144, 0]), 'x.mp3', { type: 'audio/mpeg' });
  const { id: sound } = await openai.files.create({ file: mp3, purpose: 'user_data' });
  const asking = (...parts: object[]) => ({ model: 'chat', input: [{ role: 'user', content: parts }] });
  const file = (file_id: string) => ({ type: 'input_file', file_id });
  const cases: [object, RegExp][] = [
    [asking(file(large), file(large)), /20 MB/],
    [asking(file(binary)), /neither a picture nor a PDF nor a text/],
    [asking(file(sound)), /"x.mp3" is neither a picture nor a PDF nor a text/],
    [asking({ type: 'input_image', file_id: ids['c.csv'] }), /is no picture/],
  ];
  for (const [json, words] of cases) {
    const response = await gateway.fetch('/v1/responses', { json });
    const { error } = (await response.json()) as { error: { param: string; message: string } };
    assert.deepEqual([response.status, error.param], [400, 'input[0].content[0].file_id']);
    assert.match(error.message, words);
  }
});

test('what a model called a tool with stays as it was, and an id counts wherever it stands', async () => {
  const source = { type: 'file', file_id: ids['e.md'] };
  const document = { type: 'document', source };
  const messages = [
    { role: 'user', content: [document] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: { of: document } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'done' }] },
  ];
  const tools = [{ name: 'f', input_schema: { type: 'object' } }];
  const called = await gateway.fetch('/v1/messages', { json: { model: 'claude', max_tokens: 9, messages, tools } });
  assert.equal(called.status, 200);
  const sent = upstream.requests().findLast(({ method }) => method === 'POST')!.body as { messages: typeof messages };
  assert.deepEqual(sent.messages[1], messages[1]);
  assert.match(JSON.stringify(sent.messages[0]), /Pändas/);

  const part = { type: 'file', file: { file_id: await upload('some.txt', 'x'.repeat(5 * 1024 * 1024)) } };
  const content = [part, { type: 'text', text: 'Hi', metadata: Array(5).fill(part) }];
  const json = { model: 'chat', messages: [{ role: 'user', content }] };
  const refused = await gateway.fetch('/v1/chat/completions', { json });
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /20 MB/);
});

test('files in requests have no more room together than bodies have', async (context) => {
  const small = await startGateway(context, {
    server: { body_limit: '4mb', body_memory: '24mb' },
    providers: { chat: { type: 'openai', ...at } },
    models: { slow: { targets: ['chat/mock/hang'] }, chat: { targets: ['chat/mock/ok'] } },
  });
  const client = new OpenAI({ baseURL: `${small.url}/v1`, apiKey: testKey, maxRetries: 0 });
  const file_id = await upload('half.txt', 'x'.repeat(6 * 1024 * 1024), client);
  const json = (model: string) => ({
    model,
    messages: [{ role: 'user', content: [{ type: 'file', file: { file_id } }] }],
  });
  upstream.clear();
  const leaving = new AbortController();
  const waiting = small.fetch('/v1/chat/completions', { json: json('slow'), signal: leaving.signal }).catch(() => null);
  while (!upstream.requests().some(({ method }) => method === 'POST')) await new Promise(setImmediate);
  const refused = await small.fetch('/v1/chat/completions', { json: json('chat') });
  assert.equal(refused.status, 503);
  assert.match(await refused.text(), /Your account has as many bytes/);
  leaving.abort();
  await waiting;
  let status = 503;
  while (status === 503) ({ status } = await small.fetch('/v1/chat/completions', { json: json('chat') }));
  assert.equal(status, 200);
});

test('a line of a batch may name files', async () => {
  const content = [{ type: 'file', file: { file_id: ids['c.csv'] } }];
  const line = chatLine('one', { messages: [{ role: 'user', content }] });
  const { id } = await beginBatch(openai, [line]);
  const batch = await batchWhen(openai, id, hasEnded);
  const [result] = await resultsIn(openai, batch.output_file_id);
  assert.equal(result?.response?.status_code, 200);
  assert.match(told(), /panda,4/);
});
