import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { ApiError, GoogleGenAI } from '@google/genai';
import { listening } from '../forward-proxy.ts';
import { startGateway } from '../start-gateway.ts';

/* Issue 13 §4: Google's own SDK lists models and counts tokens, at either version of its paths. */

/** Google, as far as counting goes: 41 tokens for everything. */
const counted: { path: string; body: unknown }[] = [];
const port = await listening(
  { after } as unknown as TestContext,
  createServer(async (request, response) => {
    const body = await textOf(request);
    if (request.url?.endsWith(':countTokens')) counted.push({ path: request.url, body: JSON.parse(body) });
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ totalTokens: 41, models: [] }));
  }),
);
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: {
      google: { type: 'gemini', base_url: `http://127.0.0.1:${port}`, api_key: 'c' },
      claude: {
        type: 'anthropic',
        base_url: `http://127.0.0.1:${port}/v1`,
        api_key: 'b',
        dialects: ['anthropic-messages'],
      },
    },
    models: {
      google: {
        targets: [{ provider: 'google', model: 'gemini-3-pro', context_window: 1_000_000, max_output_tokens: 65_000 }],
      },
      'team/claude': { targets: ['claude/claude-sonnet-4-5'] },
      vectors: { type: 'embedding', targets: ['google/gemini-embedding-001'] },
    },
  },
);
const clients = (['v1beta', 'v1'] as const).map((apiVersion) => ({
  apiVersion,
  google: new GoogleGenAI({ apiKey: gateway.key, apiVersion, httpOptions: { baseUrl: gateway.url, apiVersion } }),
}));

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of request.setEncoding('utf8')) text += piece;
  return text;
}

for (const { apiVersion, google } of clients) {
  test(`${apiVersion}: models are listed page by page, and one is described, by names that can be called`, async () => {
    const listed = [];
    for await (const model of await google.models.list({ config: { pageSize: 2 } })) listed.push(model);
    const names = listed.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    for (const name of ['models/google', 'models/team/claude', 'models/vectors']) assert.ok(names.includes(name), name);
    const described = await google.models.get({ model: 'models/google' });
    assert.deepEqual(
      described,
      listed.find(({ name }) => name === 'models/google'),
    );
    assert.deepEqual([described.inputTokenLimit, described.outputTokenLimit], [1_000_000, 65_000]);
    assert.deepEqual(described.supportedActions, ['generateContent', 'streamGenerateContent', 'countTokens']);
    const vectors = await google.models.get({ model: 'vectors' });
    assert.deepEqual(vectors.supportedActions, ['embedContent', 'batchEmbedContents']);
    assert.equal((await google.models.get({ model: 'team/claude' })).displayName, 'team/claude');
  });

  test(`${apiVersion}: an unknown model and a wrong page are refused in Google's shape`, async () => {
    for (const [asking, status, words] of [
      [() => google.models.get({ model: 'nope' }), 404, /nope.*NOT_FOUND/s],
      [() => google.models.list({ config: { pageToken: 'nope' } }), 400, /pageToken.*INVALID_ARGUMENT/s],
      [() => google.models.countTokens({ model: 'nope', contents: 'x' }), 404, /nope.*NOT_FOUND/s],
    ] as const) {
      await assert.rejects(asking as () => Promise<unknown>, (error: unknown) => {
        assert.ok(error instanceof ApiError, String(error));
        assert.equal(error.status, status);
        assert.match(error.message, words);
        return true;
      });
    }
  });

  test(`${apiVersion}: tokens are counted by Google where it answers, else here`, async () => {
    const before = counted.length;
    const { totalTokens } = await google.models.countTokens({ model: 'google', contents: 'The quick brown fox.' });
    assert.equal(totalTokens, 41);
    assert.deepEqual(counted.slice(before), [
      {
        path: '/v1beta/models/gemini-3-pro:countTokens',
        body: {
          generateContentRequest: {
            model: 'models/gemini-3-pro',
            contents: [{ parts: [{ text: 'The quick brown fox.' }], role: 'user' }],
          },
        },
      },
    ]);
    const own = await google.models.countTokens({ model: 'team/claude', contents: 'The quick brown fox.' });
    assert.ok(own.totalTokens! > 4 && own.totalTokens! < 20, String(own.totalTokens));
    assert.equal(counted.length, before + 1);
  });
}

test('a whole request is counted with its instructions, and nothing of it is charged', async () => {
  const count = async (json: object) => {
    const response = await gateway.fetch('/v1beta/models/team/claude:countTokens', { json });
    assert.equal(response.status, 200);
    return ((await response.json()) as { totalTokens: number }).totalTokens;
  };
  const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }];
  const few = await count({ contents });
  const systemInstruction = { parts: [{ text: 'You answer in one word, whatever you are asked.' }] };
  const more = await count({ generateContentRequest: { model: 'models/team/claude', contents, systemInstruction } });
  assert.ok(more > few + 5);
  const usage = (await (await gateway.fetch('/v1/usage')).json()) as { windows: Record<string, { used: number }> };
  for (const { used } of Object.values(usage.windows)) assert.equal(used, 0);
});

test('a caller without a key is told so in Google’s shape', async () => {
  const response = await fetch(`${gateway.url}/v1beta/models`);
  const { error } = (await response.json()) as { error: { code: number; status: string } };
  assert.deepEqual([response.status, error.code, error.status], [401, 401, 'UNAUTHENTICATED']);
});
