import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { unitVector } from '../../src/simulator/embed-vectors.ts';
import { workersKnow } from '../start-gateway.ts';
import type { Upstream } from '../start-upstream.ts';
import { assertNear, type Embedded, embeddingsPath, embedWorld, inputsOf, vectorOf } from './embed-world.ts';
import { asked, type ErrorBody } from './served.ts';

const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];

/** Every input has its own vector, whoever made it and in whatever order. */
function assertVectorsOf(answer: Embedded, texts: readonly string[]): void {
  assert.deepEqual(
    answer.data.map(({ index }) => index),
    texts.map((_, i) => i),
  );
  for (const [i, text] of texts.entries()) {
    assertNear(vectorOf(answer.data[i]!.embedding), unitVector(text, 1_024), text);
  }
}

test('§6 embeddings: many inputs go in calls of the target’s batch, and come back in their order', async (t) => {
  const { embed, first, second } = await embedWorld(t);
  // The first call is the last to answer.
  first.script(embeddingsPath, ['drip=4096/1ms']);
  assertVectorsOf(await embed({ model: 'e', input: letters }), letters);
  assert.deepEqual(inputsOf(first).toSorted(), [['a', 'b'], ['c', 'd'], ['e', 'f'], ['g']]);
  assert.equal(asked(second).length, 0);
});

test('§6 embeddings: no more than four calls of one request run at one time', async (t) => {
  const { ask, first } = await embedWorld(t);
  first.script(embeddingsPath, ['always stall']);
  const texts = Array.from({ length: 20 }, (_, i) => `text ${i}`);
  await leaveAfter(first, ['text 0', 'text 2', 'text 4', 'text 6'], (signal) =>
    ask({ model: 'e', input: texts }, {}, signal),
  );
  assert.equal(asked(first).length, 4);
});

/** Leaves when a call with each of these texts has come, and waits until all of them are given up. */
async function leaveAfter(
  upstream: Upstream,
  texts: readonly string[],
  ask: (signal: AbortSignal) => Promise<Response>,
): Promise<void> {
  const controller = new AbortController();
  const gone = assert.rejects(ask(controller.signal));
  const holds = (body: unknown, text: string) => JSON.stringify(body).includes(`"${text}"`);
  for (const text of texts) await upstream.when(({ body }) => holds(body, text));
  controller.abort();
  await gone;
  for (const text of texts) await upstream.when(({ body, aborted }) => aborted && holds(body, text));
}

test('§6 embeddings: where a call fails, it and those without an answer go to the next target together; what was answered stays', async (t) => {
  const { ask, first, second, record } = await embedWorld(t);
  // The fifth call begins when one of the first four has been answered.
  first.script(embeddingsPath, ['4x ok', 'status=503']);
  const texts = [...letters, 'h', 'i', 'j'];
  const response = await ask({ model: 'e', input: texts });
  assert.equal(response.status, 200);
  assertVectorsOf((await response.json()) as Embedded, texts);
  const moved = inputsOf(second).flat() as string[];
  const kept = texts.filter((letter) => !moved.includes(letter));
  assert.ok(kept.length > 0 && kept.length % 2 === 0 && moved.length > 0, JSON.stringify({ moved, kept }));
  assert.equal(response.headers.get('x-culvert-attempts'), '2');
  assert.equal(response.headers.get('x-culvert-provider'), 'two');
  assert.equal(response.headers.get('x-culvert-cost'), '1');
  const { units, usage, route } = await record(response);
  assert.equal(units, 1);
  const [failed, served] = route.attempts;
  assert.deepEqual([failed!.class, served!.class], ['transient', 'ok']);
  assert.ok(failed!.usage!.inputTokens > 0);
  assert.equal(usage.input_tokens, failed!.usage!.inputTokens + served!.usage!.inputTokens);
});

test('§6 embeddings: vectors of two targets cost what each of them costs', async (t) => {
  const priced = (provider: string, input: number) => ({ provider, model: 'mock/ok', batch: 2, price: { input } });
  const targets = [priced('one', 1_000), { ...priced('two', 50_000), priority: 2 }];
  const { ask, first, record } = await embedWorld(t, { models: { e: { type: 'embedding', space: 'mock', targets } } });
  first.script(embeddingsPath, ['4x ok', 'status=503']);
  const response = await ask({ model: 'e', input: [...letters, 'h', 'i', 'j'] });
  assert.equal(response.status, 200);
  await response.text();
  const { cost_usd, route } = await record(response);
  const costs = route.attempts.map(({ costUsd }) => costUsd ?? 0);
  assert.ok(costs.length === 2 && costs.every((usd) => usd > 0), JSON.stringify(costs));
  assert.equal(cost_usd, Math.round(costs.reduce((sum, usd) => sum + usd) * 1e9) / 1e9);
  assert.equal(Number(response.headers.get('x-culvert-cost-usd')), cost_usd);
});

for (const [what, spec] of [
  ['fewer vectors than inputs', 'vectors=1'],
  ['more vectors than inputs', 'vectors=3'],
  ['one index twice', 'same-index'],
  ['vectors of another length than the alias declares', 'vector-size=7'],
  ['vectors of different lengths', 'ragged'],
  ['NaN', 'nan'],
  ['null for a number', 'nan=null'],
  ['a number beyond what a vector holds', 'nan=1e999'],
  ['half a body', 'eof'],
  ['an error inside a 200', 'error'],
  ['no JSON', 'malformed'],
  ['nothing', 'empty'],
] as const) {
  test(`§6 embeddings: a target that answers ${what} is passed over, and the caller gets good vectors`, async (t) => {
    const { ask, first, second, record } = await embedWorld(t, { models: { e: declared } });
    first.script(embeddingsPath, [spec]);
    const response = await ask({ model: 'e', input: ['a', 'b'] });
    assert.equal(response.status, 200);
    assertVectorsOf((await response.json()) as Embedded, ['a', 'b']);
    assert.equal(asked(first).length, 1, 'the first was asked');
    assert.equal(asked(second).length, 1);
    const { route } = await record(response);
    assert.equal(route.attempts.length, 2);
    assert.notEqual(route.attempts[0]!.class, 'ok');
  });
}

test('§6 embeddings: where no length is declared, no target answers another one than the first has given', async (t) => {
  const { ask, embed, first, second } = await embedWorld(t);
  await embed({ model: 'e', input: 'a' });
  await workersKnow();
  first.script(embeddingsPath, ['always status=503']);
  second.script(embeddingsPath, ['always vector-size=7']);
  const refused = await ask({ model: 'e', input: 'a' });
  assert.equal(refused.status, 502);
  assert.match(await refused.text(), /7 dimensions, but the first target of the model gives 1024/);
  // A caller that asks for a length gets it.
  const wanted = await embed({ model: 'e', input: 'a', dimensions: 7 });
  assert.equal(vectorOf(wanted.data[0]!.embedding).length, 7);
});

const declared = {
  type: 'embedding',
  space: 'mock',
  dimensions: 1_024,
  targets: [
    { provider: 'one', model: 'mock/ok' },
    { provider: 'two', model: 'mock/ok', priority: 2 },
  ],
};

test('§6 embeddings: base64 with NaN inside is no vector either', async (t) => {
  const { ask, first, second } = await embedWorld(t);
  first.script(embeddingsPath, ['nan']);
  const response = await ask({ model: 'e', input: 'a', encoding_format: 'base64' });
  assert.equal(response.status, 200);
  assertVectorsOf((await response.json()) as Embedded, ['a']);
  assert.equal(asked(second).length, 1);
});

test('§6 embeddings: an answer whose vectors come in another order is put right by their index', async (t) => {
  const { embed, first, second } = await embedWorld(t);
  first.script(embeddingsPath, ['always shuffle']);
  assertVectorsOf(await embed({ model: 'e', input: letters }), letters);
  assert.equal(asked(second).length, 0);
});

test('§6 embeddings: tokens that the upstream does not tell are counted by us', async (t) => {
  const { ask, first, record } = await embedWorld(t);
  first.script(embeddingsPath, ['omit=usage']);
  const response = await ask({ model: 'e', input: 'twenty bytes of text' });
  const { usage } = (await response.json()) as Embedded;
  assert.deepEqual(usage, { prompt_tokens: 5, total_tokens: 5 });
  assert.equal((await record(response)).usage.source, 'counted');
});

test('§6 embeddings: a request that fails everywhere costs nothing, whatever some calls have answered', async (t) => {
  const { ask, first, second, record } = await embedWorld(t);
  first.script(embeddingsPath, ['ok', 'always status=500']);
  second.script(embeddingsPath, ['always status=500']);
  const response = await ask({ model: 'e', input: letters });
  assert.equal(response.status, 502);
  assert.equal(response.headers.get('x-culvert-cost'), '0');
  await response.text();
  assert.equal((await record(response)).units, 0);
});

test('§6 embeddings: a caller who leaves ends every call that runs for it', async (t) => {
  const { ask, first } = await embedWorld(t);
  first.script(embeddingsPath, ['always stall']);
  await leaveAfter(first, ['a', 'c'], (signal) => ask({ model: 'e', input: ['a', 'b', 'c'] }, {}, signal));
  assert.equal(asked(first).length, 2);
});

test('§6 embeddings: a model without a target that embeds is a 400 that says so', async (t) => {
  const { ask } = await embedWorld(t);
  const response = await ask({ model: 'claude', input: 'a' });
  assert.equal(response.status, 400);
  const { error } = (await response.json()) as ErrorBody;
  assert.equal(error.param, 'model');
  assert.match(error.message, /No provider of the model 'claude' serves \/v1\/embeddings/);
});

test('§6 embeddings: an alias of another type embeds if a target can, but only in the first one’s vector space', async (t) => {
  const { ask, first, second } = await embedWorld(t, {
    models: {
      undeclared: { targets: ['one/mock/ok', { provider: 'two', model: 'mock/ok', priority: 2 }] },
      mixed: {
        targets: [
          { provider: 'one', model: 'mock/ok', space: 's' },
          { provider: 'two', model: 'mock/ok', space: 't', priority: 2 },
        ],
      },
    },
  });
  first.script(embeddingsPath, ['always status=503']);
  for (const model of ['undeclared', 'mixed']) {
    const response = await ask({ model, input: 'a' });
    assert.ok(response.status >= 502, model);
    await response.text();
  }
  assert.equal(asked(second).length, 0);
});

test('§6 embeddings: a token array goes past targets that take text alone', async (t) => {
  const { ask, first, second } = await embedWorld(t, {
    providers: { lm: { type: 'lmstudio', base_url: 'http://127.0.0.1:9/v1' } },
    models: {
      both: {
        type: 'embedding',
        space: 's',
        targets: ['lm/texts-only', { provider: 'two', model: 'mock/ok', priority: 2 }],
      },
      text: { type: 'embedding', targets: ['lm/texts-only'] },
    },
  });
  const taken = await ask({ model: 'both', input: [1, 2, 3] });
  assert.equal(taken.status, 200);
  await taken.text();
  assert.equal(asked(second).length, 1);
  const refused = await ask({ model: 'text', input: [1, 2, 3] });
  assert.equal(refused.status, 400);
  assert.equal(((await refused.json()) as ErrorBody).error.param, 'input');
  assert.equal(asked(first).length, 0);
});

test('§6 embeddings: what is sent again under one Idempotency-Key is answered by the same vectors, and charged once', async (t) => {
  const { ask, first } = await embedWorld(t);
  const headers = { 'idempotency-key': 'again' };
  const one = await (await ask({ model: 'e', input: 'a' }, headers)).text();
  const again = await ask({ model: 'e', input: 'a' }, headers);
  assert.equal(await again.text(), one);
  assert.ok(again.headers.get('x-culvert-idempotent-replay'));
  assert.equal(asked(first).length, 1);
});

test('§6 embeddings: unknown fields go on to upstreams of OpenAI’s format; what would steer the gateway does not', async (t) => {
  const { embed, first } = await embedWorld(t);
  await embed({ model: 'e', input: 'a', truncate: 'END', api_base: 'http://elsewhere', models: ['x'] });
  const [request] = asked(first);
  assert.deepEqual(request!.body, { truncate: 'END', model: 'mock/ok', input: ['a'] });
});

test('F24 a body of 2,048 long texts and their vectors go through threads, and come back as they should be', async (t: TestContext) => {
  const { gateway, embed } = await embedWorld(t, {
    models: { big: { type: 'embedding', targets: [{ provider: 'one', model: 'mock/ok', batch: 2_048 }] } },
  });
  const texts = Array.from({ length: 2_048 }, (_, i) => `${i} ${'word '.repeat(120)}`);
  const answer = await embed({ model: 'big', input: texts, dimensions: 256 });
  assert.equal(answer.data.length, 2_048);
  for (const i of [0, 1, 1_000, 2_047]) {
    assertNear(vectorOf(answer.data[i]!.embedding), unitVector(texts[i]!, 256));
  }
  // Through the threads and back, twice: they are still there.
  const base64 = await embed({ model: 'big', input: texts, dimensions: 256, encoding_format: 'base64' });
  assertNear(vectorOf(base64.data[2_047]!.embedding), answer.data[2_047]!.embedding as number[]);
  assert.equal((await gateway.fetch('/healthz')).status, 200);
});
