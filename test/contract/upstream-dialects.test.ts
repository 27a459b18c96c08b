import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { carriedDialects, catalog } from '../../src/formats/providers/catalog.ts';
import { createConnection } from '../../src/formats/providers/provider-connection.ts';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';

/* Design §5, `dialects` of a provider: the dialect that it is asked in, whoever calls. */

interface World {
  gateway: TestGateway;
  upstream: Upstream;
}

/** An alias `m` on one provider of `type` that speaks `dialects`. */
async function open(t: TestContext, type: string, dialects: readonly string[] | undefined): Promise<World> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { up: { type, base_url: `${upstream.url}/v1`, api_key: 'k', ...(dialects && { dialects }) } },
    models: { m: { targets: [{ provider: 'up', model: 'mock/ok' }] } },
  });
  return { gateway, upstream };
}

/** Upstream requests for callers' requests, without those for the list of models. */
const sentBy = (upstream: Upstream) => upstream.requests().filter(({ method }) => method === 'POST');

const bodies = {
  '/v1/chat/completions': { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
  '/v1/messages': { model: 'm', max_tokens: 64, messages: [{ role: 'user', content: 'Hi' }] },
  '/v1/responses': { model: 'm', input: 'Hi' },
} as const;

const gemini = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] };

type Path = keyof typeof bodies;

const paths: readonly Path[] = ['/v1/chat/completions', '/v1/messages', '/v1/responses'];

/** Rows: type, its dialects, and the paths for callers of the three formats. */
const cases: readonly [type: string, dialects: readonly string[] | undefined, ends: readonly Path[]][] = [
  ['vllm', undefined, ['/v1/chat/completions', '/v1/chat/completions', '/v1/chat/completions']],
  ['vllm', ['openai-chat', 'anthropic-messages', 'openai-responses'], paths],
  ['lmstudio', ['openai-chat', 'openai-responses'], ['/v1/chat/completions', '/v1/chat/completions', '/v1/responses']],
  ['ollama', ['anthropic-messages'], ['/v1/messages', '/v1/messages', '/v1/messages']],
  ['openai', ['openai-responses', 'anthropic-messages'], ['/v1/responses', '/v1/messages', '/v1/responses']],
];

for (const [type, dialects, ends] of cases) {
  test(`type ${type} that speaks ${dialects?.join(', ') ?? 'what its type speaks'} is asked in the caller's own of them, else in the first`, async (t) => {
    const { gateway, upstream } = await open(t, type, dialects);
    for (const [i, path] of paths.entries()) {
      for (const stream of [false, true]) {
        upstream.clear();
        const answer = await gateway.fetch(path, { json: { ...bodies[path], stream } });
        const text = await answer.text();
        assert.equal(answer.status, 200, text);
        assert.deepEqual(
          sentBy(upstream).map((sent) => sent.path),
          [ends[i]],
          path,
        );
        assert.match(text, /simulated|mock|sim/);
      }
    }
  });
}

test('callers of Gemini are asked in the first that the provider speaks', async (t) => {
  const { gateway, upstream } = await open(t, 'vllm', ['anthropic-messages', 'openai-chat']);
  const answer = await gateway.fetch('/v1beta/models/m:generateContent', { json: gemini });
  assert.equal(answer.status, 200, await answer.text());
  assert.equal(sentBy(upstream)[0]!.path, '/v1/messages');
});

test('a server of another type that speaks Messages gets them byte for byte, with the version and betas it needs', async (t) => {
  // Mistral refuses `user`, `store` and others in chat completions: fields of the same name here are none of those.
  const { gateway, upstream } = await open(t, 'mistral', ['anthropic-messages']);
  const body = `{ "model" : "m", "max_tokens":64,"service_tier":"auto", "user":"x","store":1,
    "messages":[{"role":"user","content":[{"type":"some_future_block"},{"type":"text","text":"Hi"}]}], "future": {"a":1e2} }`;
  const answer = await gateway.fetch('/v1/messages', {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', 'anthropic-beta': 'context-1m' },
  });
  assert.equal(answer.status, 200, await answer.text());
  const [sent] = sentBy(upstream);
  assert.deepEqual(sent!.body, { ...(JSON.parse(body) as JsonObject), model: 'mock/ok' });
  assert.equal(sent!.headers['anthropic-version'], '2023-06-01');
  assert.equal(sent!.headers['anthropic-beta'], 'context-1m');
  assert.equal(sent!.headers.authorization, 'Bearer k');
  assert.equal(answer.headers.get('x-culvert-dropped'), null);
});

test('headers of Anthropic stay away from what the same server is asked in another format', async (t) => {
  const { gateway, upstream } = await open(t, 'vllm', ['openai-chat', 'anthropic-messages']);
  const json = bodies['/v1/chat/completions'];
  await gateway.fetch('/v1/chat/completions', { json, headers: { 'anthropic-beta': 'context-1m' } });
  const [sent] = sentBy(upstream);
  assert.equal(sent!.headers['anthropic-version'], undefined);
  assert.equal(sent!.headers['anthropic-beta'], undefined);
});

test('tokens of Messages are counted by a server that speaks them', async (t) => {
  const { gateway, upstream } = await open(t, 'vllm', ['openai-chat', 'anthropic-messages']);
  const answer = await gateway.fetch('/v1/messages/count_tokens', { json: bodies['/v1/messages'] });
  assert.equal(answer.status, 200, await answer.text());
  assert.equal(sentBy(upstream)[0]!.path, '/v1/messages/count_tokens');
});

test('every type of the catalog can be asked in what the configuration lets people say of it', () => {
  for (const provider of catalog) {
    const dialects = carriedDialects(provider);
    assert.equal(dialects.length > 0, provider.paths.chat !== null, provider.id);
    const shared = {
      baseUrl: 'http://127.0.0.1:9/v1',
      region: 'us-east-1',
      secrets: [],
      headers: {},
      apiVersion: null,
    };
    const facts = { name: 'p', provider, ...shared };
    for (const dialect of dialects) {
      const made = createConnection({ ...facts, dialects: [dialect] });
      assert.deepEqual(made.ok && made.connection.dialects, [dialect], provider.id);
    }
  }
});
