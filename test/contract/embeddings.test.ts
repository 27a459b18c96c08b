import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { unitVector } from '../../src/simulator/embed-vectors.ts';
import { specValidator } from '../spec/validate.ts';
import { assertNear, embeddingsPath, embedWorld, inputsOf, vectorOf } from './embed-world.ts';
import { servePlans } from './plan-gateway.ts';
import { asked, type ErrorBody } from './served.ts';

const file = { after: after as TestContext['after'] };
const world = await embedWorld(file, {
  providers: { cohere: { type: 'cohere', base_url: 'http://127.0.0.1:9', api_key: 'k' } },
  models: {
    cohere: { type: 'embedding', targets: [{ provider: 'cohere', model: 'embed-v4' }] },
    own: { type: 'embedding', targets: ['culvert/culvert-lexical-1024'] },
  },
});
const { ask, embed, first, record } = world;

async function refusal(json: unknown): Promise<{ status: number; param: string | null; message: string }> {
  const response = await ask(json);
  const { error } = (await response.json()) as ErrorBody;
  return { status: response.status, param: error.param, message: error.message };
}

test('§2.3 "model: Embedding alias, case-sensitive, exactly as listed by the models endpoint"', async () => {
  const listed = (await (await world.gateway.fetch('/v1/models')).json()) as { data: { id: string }[] };
  assert.ok(listed.data.some(({ id }) => id === 'e'));
  assert.equal((await embed({ model: 'e', input: 'a' })).model, 'e');
  assert.equal((await refusal({ model: 'E', input: 'a' })).status, 404);
  assert.deepEqual([(await refusal({ input: 'a' })).status, (await refusal({ input: 'a' })).param], [400, 'model']);
});

test('§2.3 "input: string or array of strings. Texts to embed in one call"', async () => {
  const one = await embed({ model: 'e', input: 'alpha' });
  assert.equal(one.data.length, 1);
  const several = await embed({ model: 'e', input: ['alpha', 'beta', 'gamma'] });
  assert.deepEqual(
    several.data.map(({ index }) => index),
    [0, 1, 2],
  );
  assert.deepEqual(several.data[0]!.embedding, one.data[0]!.embedding);
  assertNear(several.data[2]!.embedding as number[], unitVector('gamma', 1_024));
});

test('§2.3 design §6: tokens, or an array of them, are embedded too', async () => {
  const one = await embed({ model: 'e', input: [1, 2, 3] });
  assert.equal(one.data.length, 1);
  assert.equal(one.usage.prompt_tokens, 3);
  const several = await embed({ model: 'e', input: [[1, 2, 3], [4]] });
  assert.deepEqual(several.data[0]!.embedding, one.data[0]!.embedding);
  assert.equal(several.usage.total_tokens, 4);
});

for (const [what, input, param] of [
  ['missing', undefined, 'input'],
  ['null', null, 'input'],
  ['a number', 7, 'input'],
  ['an object', { text: 'a' }, 'input'],
  ['an empty array', [], 'input'],
  ['empty tokens among others', [[1], []], 'input[1]'],
  ['a number among texts', ['a', 7], 'input[1]'],
  ['tokens among texts', ['a', [1]], 'input[1]'],
  ['a text among tokens', [[1], 'a'], 'input[1]'],
  ['half a token', [[1, 2.5]], 'input[0][1]'],
  ['a token below 0', [-1], 'input[0]'],
  ['more than 2,048 texts', Array.from({ length: 2_049 }, () => 'a'), 'input'],
] as const) {
  test(`§2.3 design §6: an input that is ${what} is a 400 that names ${param}, and asks nobody`, async () => {
    first.clear();
    const refused = await refusal({ model: 'e', input });
    assert.deepEqual([refused.status, refused.param], [400, param], refused.message);
    assert.ok(refused.message.includes(`'${param}'`), refused.message);
    assert.equal(asked(first).length, 0);
  });
}

for (const [what, input, param] of [
  ['an empty text', '', 'input'],
  ['an empty text among others', ['a', 'b', ''], 'input[2]'],
] as const) {
  test(`an input that is ${what} goes to a service of OpenAI's format, which judges it; others are not asked`, async () => {
    first.clear();
    const response = await ask({ model: 'e', input });
    const answer = (await response.json()) as { data?: unknown[]; error?: ErrorBody['error'] };
    assert.ok(asked(first).some(({ body }) => JSON.stringify(body).includes('""')));
    assert.ok(response.status === 200 ? answer.data !== undefined : response.status === 400, JSON.stringify(answer));
    for (const model of ['cohere', 'own']) {
      const refused = await refusal({ model, input });
      assert.deepEqual([refused.status, refused.param], [400, param], refused.message);
    }
  });
}

test('§2.3 "encoding_format: `float` (default)": numbers unless base64 is asked for, which is little-endian float32', async () => {
  const byDefault = await embed({ model: 'e', input: 'alpha' });
  const asFloat = await embed({ model: 'e', input: 'alpha', encoding_format: 'float' });
  const asBase64 = await embed({ model: 'e', input: 'alpha', encoding_format: 'base64' });
  assert.deepEqual(byDefault.data, asFloat.data);
  assert.equal(typeof asBase64.data[0]!.embedding, 'string');
  assertNear(vectorOf(asBase64.data[0]!.embedding), byDefault.data[0]!.embedding as number[]);
  assert.equal((await refusal({ model: 'e', input: 'a', encoding_format: 'int8' })).param, 'encoding_format');
});

test('§2.3 "dimensions: integer. Reduces vector size only if the upstream model supports it"', async () => {
  const answer = await embed({ model: 'e', input: 'alpha', dimensions: 256 });
  assert.equal(answer.data[0]!.embedding.length, 256);
  for (const dimensions of [0, -1, 1.5, '256', 1e9]) {
    const refused = await refusal({ model: 'e', input: 'a', dimensions });
    assert.deepEqual([refused.status, refused.param], [400, 'dimensions']);
  }
});

test('§2.3 design §6: dimensions that no target can give are a 400, never silently ignored', async (t) => {
  const { ask: askHere, first: up } = await embedWorld(t, {
    providers: { lm: { type: 'lmstudio', base_url: 'http://127.0.0.1:9/v1' } },
    models: { fixed: { type: 'embedding', dimensions: 1_024, targets: ['lm/whatever'] } },
  });
  const response = await askHere({ model: 'fixed', input: 'a', dimensions: 256 });
  assert.equal(response.status, 400);
  const { error } = (await response.json()) as ErrorBody;
  assert.equal(error.param, 'dimensions');
  assert.match(error.message, /256/);
  assert.equal(asked(up).length, 0);
});

test('§2.3 "user: End-user id, used for logging": it stands in the request’s record', async () => {
  const response = await ask({ model: 'e', input: 'a', user: 'user-7' });
  await response.text();
  assert.equal((await record(response)).user, 'user-7');
  assert.equal((await refusal({ model: 'e', input: 'a', user: 'x'.repeat(257) })).param, 'user');
});

test('§2.4 "object, data with `embedding` and `index`, model, usage with total_tokens"', async () => {
  const answer = await embed({ model: 'e', input: ['alpha', 'beta'] });
  assert.deepEqual(specValidator('openai', 'CreateEmbeddingResponse')(answer), []);
  assert.equal(answer.object, 'list');
  assert.equal(answer.model, 'e');
  for (const [i, { object, index, embedding }] of answer.data.entries()) {
    assert.deepEqual([object, index], ['embedding', i]);
    assert.ok((embedding as number[]).every((number) => typeof number === 'number'));
  }
  assert.ok(answer.usage.total_tokens > 0);
  assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens);
});

test('§4.2 "Costs one full request of quota, plus token-based accounting where applicable", however many inputs and calls', async (t) => {
  const plans = { p: { windows: { '5h': 10 }, rpm: 'off' } };
  const served = await servePlans(plans, { models: embedModel });
  t.after(() => served.gateway.close(0));
  const response = await served.ask('p', embeddingsPath, { model: 'e', input: ['a', 'b', 'c', 'd', 'e'] });
  const { usage } = (await response.json()) as { usage: { total_tokens: number } };
  assert.equal(response.headers.get('x-culvert-cost'), '1');
  assert.equal(inputsOf(served.upstream).length, 3);
  const { windows, data } = (await served.usage('p', '?group_by=endpoint')) as never as {
    windows: { '5h': { used: number } };
    data: { group: string; units: number; input_tokens: number }[];
  };
  assert.equal(windows['5h'].used, 1);
  assert.deepEqual(
    data.map(({ group, units, input_tokens }) => [group, units, input_tokens]),
    [['embeddings', 1, usage.total_tokens]],
  );
});

const embedModel = {
  e: { type: 'embedding', targets: [{ provider: 'up1', model: 'mock/ok', batch: 2 }] },
  chat: { targets: ['up1/mock/ok'] },
};

test('§4.2 "If the model is not allowed on the caller’s plan …, the error lists the allowed models"', async (t) => {
  const plans = { p: { windows: 'off', rpm: 'off', models: ['chat'] } };
  const served = await servePlans(plans, { models: embedModel });
  t.after(() => served.gateway.close(0));
  const response = await served.ask('p', embeddingsPath, { model: 'e', input: 'a' });
  assert.equal(response.status, 403);
  const { error } = (await response.json()) as ErrorBody;
  assert.equal(error.type, 'permission_error');
  assert.match(error.message, /Allowed models: chat\./);
  assert.equal(asked(served.upstream).length, 0);
});

test('§4.2 "Input that is very long may be truncated or rejected by the upstream model": its own words come back as a 400', async () => {
  first.script(embeddingsPath, ['status=400;message=maximum context length is 8192 tokens']);
  // Each target is asked once; the first answer stays when none takes it.
  world.second.script(embeddingsPath, ['status=400;message=maximum context length is 4096 tokens']);
  const response = await ask({ model: 'e', input: 'long '.repeat(10_000) });
  assert.equal(response.status, 400);
  assert.equal(response.headers.get('x-culvert-cost'), '0');
  assert.match(((await response.json()) as ErrorBody).error.message, /8192 tokens/);
});

test('§7 "502 All upstream providers failed": it names what each said, and costs nothing', async () => {
  first.script(embeddingsPath, ['always status=500']);
  world.second.script(embeddingsPath, ['always status=500']);
  const response = await ask({ model: 'e', input: 'a' });
  assert.equal(response.status, 502);
  assert.match(((await response.json()) as ErrorBody).error.message, /one: answered 500.*two: answered 500/s);
  assert.equal((await record(response)).units, 0);
  first.clear();
  world.second.clear();
});
