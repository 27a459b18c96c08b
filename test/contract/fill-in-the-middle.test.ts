import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { dataLines, type ErrorBody } from './served.ts';

interface Chunk {
  object: string;
  choices: {
    text?: string;
    delta?: { content: string };
    message?: { content: string };
    finish_reason: string | null;
  }[];
  usage?: { total_tokens: number } | null;
}

const upstream = await startUpstream();
after(() => upstream.close());
const at = { base_url: `${upstream.url}/v1`, api_key: 'k' };
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: {
      mistral: { type: 'mistral', ...at },
      deepseek: { type: 'deepseek', base_url: upstream.url, api_key: 'k' },
      claude: { type: 'anthropic', ...at },
    },
    models: {
      codestral: { targets: ['mistral/mock/ok'] },
      deepseek: { targets: ['deepseek/mock/ok'] },
      claude: { targets: ['claude/mock/ok'] },
      guarded: { targets: ['deepseek/mock/ok'], guards: ['words'] },
    },
    guards: { words: { check: 'words', words: ['Mock answer'], on: ['output'], action: 'mask' } },
  },
);
const body = { prompt: 'def add(a, b):', suffix: 'return c', max_tokens: 64, random_seed: 7 };
const middle = 'Mock answer to: def add(a, b):';
const last = () => upstream.requests().at(-1)!;

async function streamed(path: string, json: object): Promise<Chunk[]> {
  const lines = dataLines(await (await gateway.fetch(path, { json: { ...json, stream: true } })).text());
  assert.equal(lines.pop(), '[DONE]');
  return lines.map((line) => JSON.parse(line) as Chunk);
}

for (const [model, path, sent] of [
  ['codestral', '/v1/fim/completions', { random_seed: 7 }],
  ['deepseek', '/beta/completions', { seed: 7 }],
] as const) {
  test(`Mistral's fill in the middle is answered in the form of chats over ${model}`, async () => {
    for (const base of ['/v1', '', '/api/v1']) {
      const response = await gateway.fetch(`${base}/fim/completions`, { json: { model, ...body } });
      const answer = (await response.json()) as Chunk;
      assert.equal(response.status, 200);
      assert.deepEqual([answer.object, answer.choices[0]!.message!.content], ['chat.completion', middle]);
      assert.ok(answer.usage!.total_tokens > 0);
    }
    const { random_seed: _, ...rest } = body;
    assert.equal(last().path, path);
    assert.deepEqual(last().body, { model: 'mock/ok', ...rest, ...sent });
    const response = await gateway.fetch('/v1/fim/completions', { json: { model, ...body } });
    const id = response.headers.get('x-culvert-request-id');
    const record = (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as { endpoint: string };
    assert.equal(record.endpoint, 'fim');
  });

  test(`… and streamed, each chunk with a choice, over ${model}`, async () => {
    const chunks = await streamed('/v1/fim/completions', { model, ...body });
    const choices = chunks.map((chunk) => chunk.choices[0]!);
    assert.equal(choices.map(({ delta }) => delta!.content ?? '').join(''), middle);
    assert.ok(chunks.every(({ object }) => object === 'chat.completion.chunk'));
    assert.equal(choices.at(-1)!.finish_reason, 'stop');
    if (model === 'deepseek') assert.ok(chunks.at(-1)!.usage!.total_tokens > 0);
  });
}

test("Text completions are answered in OpenAI's form by Mistral's fill in the middle", async () => {
  const json = {
    model: 'codestral',
    prompt: 'def add(a, b):',
    suffix: 'return c',
    max_tokens: 64,
    seed: 7,
    user: 'me',
  };
  const response = await gateway.fetch('/v1/completions', { json });
  const answer = (await response.json()) as Chunk;
  assert.deepEqual([answer.object, answer.choices[0]!.text], ['text_completion', middle]);
  assert.equal(response.headers.get('x-culvert-dropped'), 'user');
  const { seed: _, user: __, ...rest } = json;
  assert.equal(last().path, '/v1/fim/completions');
  assert.deepEqual(last().body, { ...rest, model: 'mock/ok', random_seed: 7 });
  const chunks = await streamed('/v1/completions', json);
  assert.equal(chunks.map(({ choices }) => choices[0]!.text).join(''), middle);
  assert.equal('stream_options' in (last().body as object), false);
});

test('a model whose provider continues no texts gets a 400 that says so', async () => {
  const response = await gateway.fetch('/v1/fim/completions', { json: { model: 'claude', ...body } });
  assert.equal(response.status, 400);
  assert.match(((await response.json()) as ErrorBody).error.message, /\/v1\/fim\/completions.*(codestral|deepseek)/);
});

test('a guard finds words that two pieces of the answer share', async () => {
  const chunks = await streamed('/v1/fim/completions', { model: 'guarded', ...body });
  const text = chunks.map(({ choices }) => choices[0]!.delta!.content).join('');
  assert.ok(text.endsWith(' to: def add(a, b):') && !text.includes('Mock'), text);
});
