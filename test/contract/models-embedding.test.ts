import assert from 'node:assert/strict';
import { test } from 'node:test';
import { builtInModels, builtInProvider } from '../../src/config/built-in-models.ts';
import { builtInEngines } from '../../src/engines/built-in-engines.ts';
import { engineProvider } from '../../src/engines/embedding-engine.ts';
import { espeakModel } from '../../src/engines/espeak-speech.ts';
import { modelManifests } from '../../src/engines/extras/model-manifest.ts';
import { startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { chatPath, embeddingsAlwaysThere, hello, serve } from './served.ts';

const [lexical, ...ofContract] = embeddingsAlwaysThere as [string, ...string[]];

interface Entry {
  id: string;
  model_type: string;
  owned_by: string;
  dimensions: number | null;
}

interface Embedded {
  object: string;
  model: string;
  data: { embedding: number[]; index: number }[];
  usage: { prompt_tokens: number; total_tokens: number };
}

const embed = (gateway: TestGateway, model: string, input: unknown = 'A culvert carries water.') =>
  gateway.fetch('/v1/embeddings', { json: { model, input } });

async function embedded(response: Response): Promise<Embedded> {
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text) as Embedded;
}

async function entries(gateway: TestGateway): Promise<Map<string, Entry>> {
  const { data } = (await (await gateway.fetch('/v1/models')).json()) as { data: Entry[] };
  return new Map(data.map((entry) => [entry.id, entry]));
}

test('§2.5 without any provider all six aliases answer with vectors of 1,024 numbers, free and labelled as simulated', async (t) => {
  const gateway = await startGateway(t);
  for (const id of ofContract) {
    const response = await embed(gateway, id);
    assert.equal(response.headers.get('x-culvert-simulated'), 'true', id);
    assert.equal(response.headers.get('x-culvert-cost'), '0', id);
    const { object, model, data } = await embedded(response);
    assert.deepEqual([object, model, data.length, data[0]!.index], ['list', id, 1, 0]);
    assert.equal(data[0]!.embedding.length, 1_024);
  }
});

test('§2.5 design §13: culvert-lexical-1024 is real without any provider, and costs as an embedding does', async (t) => {
  const gateway = await startGateway(t);
  const response = await embed(gateway, lexical, ['water under the road', 'Water below roads', 'interest rates']);
  assert.equal(response.headers.get('x-culvert-simulated'), null);
  assert.equal(response.headers.get('x-culvert-cost'), '1');
  const { data, usage, model } = await embedded(response);
  assert.equal(model, lexical);
  assert.ok(usage.total_tokens > 0);
  const [one, near, far] = data.map(({ embedding }) => embedding) as [number[], number[], number[]];
  assert.equal(one.length, 1_024);
  const dot = (other: number[]) => one.reduce((sum, number, at) => sum + number * other[at]!, 0);
  assert.ok(dot(near) > 0.3 && Math.abs(dot(far)) < 0.15, `${dot(near)} ${dot(far)}`);
  const entry = (await entries(gateway)).get(lexical)!;
  assert.deepEqual([entry.model_type, entry.dimensions, entry.owned_by], ['embedding', 1_024, 'culvert']);
});

test('§2.5 "All six aliases have a typical vector size of 1024": the list says so of each', async (t) => {
  const listed = await entries(await startGateway(t));
  for (const id of ofContract) {
    assert.deepEqual([listed.get(id)?.model_type, listed.get(id)?.dimensions], ['embedding', 1_024], id);
  }
});

test('§2.5 "Alias names are case-sensitive"', async (t) => {
  const gateway = await startGateway(t);
  for (const id of ['Alpha-embedding-small', 'alpha-embedding-0.6b', 'CULVERT-LEXICAL-1024']) {
    const response = await embed(gateway, id);
    assert.equal(response.status, 404, id);
    await response.text();
  }
});

test('§2.5 with a provider that embeds, all six are its one model, asked for the size of the contract, and real', async () => {
  const { gateway, upstream } = await serve();
  for (const id of ofContract) {
    const response = await embed(gateway, id, ['a', 'b']);
    assert.equal(response.headers.get('x-culvert-simulated'), null);
    const { model, data } = await embedded(response);
    assert.deepEqual([model, data.length, data[0]!.embedding.length], [id, 2, 1_024]);
  }
  const bodies = upstream
    .requests()
    .filter(({ path }) => path.endsWith('/embeddings'))
    .map(({ body }) => body as { model: string; dimensions: number });
  assert.equal(bodies.length, ofContract.length);
  for (const body of bodies) assert.deepEqual([body.model, body.dimensions], ['sim/embedding', 1_024]);
});

test('design §13: chat may be real where embeddings are simulated', async (t) => {
  const upstream = await startUpstream({ models: ['gpt-x'] });
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { up1: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret-1' } },
  });
  await gateway.modelsKnown;
  const chat = await gateway.fetch(chatPath, { json: { ...hello, model: 'gpt-x' } });
  assert.equal(chat.headers.get('x-culvert-simulated'), null);
  await chat.text();
  const response = await embed(gateway, 'gamma-m3');
  assert.equal(response.headers.get('x-culvert-simulated'), 'true');
  await embedded(response);
  const listed = await entries(gateway);
  assert.ok(listed.has('sim/embedding'));
  assert.ok(!listed.has('sim/chat'), 'nothing stands in for chat');
});

test('an alias whose provider makes no embeddings stands behind none of the six', async (t) => {
  const gateway = await startGateway(t, {
    providers: { claude: { type: 'anthropic', base_url: 'http://127.0.0.1:9', api_key: 'k' } },
    models: { mine: { type: 'embedding', targets: ['claude/claude-x'] } },
  });
  const response = await embed(gateway, 'gamma-m3');
  assert.equal(response.headers.get('x-culvert-simulated'), 'true');
  await embedded(response);
});

test('a provider that fails is never replaced by the simulator', async () => {
  const { gateway, upstream } = await serve();
  upstream.script('/v1/embeddings', ['always status=500']);
  const response = await embed(gateway, 'alpha-embedding');
  assert.equal(response.status, 502);
  assert.equal(response.headers.get('x-culvert-simulated'), null);
  await response.text();
});

test('with `simulator: off` and nobody who embeds, the six do not exist, and the lexical one does', async (t) => {
  const gateway = await startGateway(t, { simulator: 'off' });
  const response = await embed(gateway, 'alpha-embedding');
  assert.equal(response.status, 404);
  assert.match(((await response.json()) as { error: { message: string } }).error.message, /culvert-lexical-1024/);
  await embedded(await embed(gateway, lexical));
});

test('an alias of the configuration wins over the one of the same name, and stands behind the others', async () => {
  const { gateway, upstream } = await serve({
    models: { 'gamma-m3': { type: 'embedding', dimensions: 1_024, cost: 3, targets: ['up1/mine'] } },
  });
  for (const id of ['gamma-m3', 'alpha-embedding']) {
    const response = await embed(gateway, id);
    assert.equal(response.headers.get('x-culvert-cost'), '3');
    assert.equal((await embedded(response)).model, id);
    assert.equal((upstream.requests().at(-1)!.body as { model: string }).model, 'mine');
  }
});

test('a pattern for embeddings wins too; one for anything else does not', async () => {
  const { gateway, upstream } = await serve({
    models: {
      'alpha-*': { type: 'embedding', dimensions: 1_024, targets: ['up1/mine-*'] },
      'gamma-*': { targets: ['up1/chats-*'] },
    },
  });
  const asked = async (id: string) => {
    await embedded(await embed(gateway, id));
    return (upstream.requests().at(-1)!.body as { model: string }).model;
  };
  assert.equal(await asked('alpha-embedding'), 'mine-embedding');
  assert.equal(await asked('gamma-m3'), 'sim/embedding');
});

test('an alias of another size does not stand behind the contract’s', async () => {
  const { gateway } = await serve({
    models: { small: { type: 'embedding', dimensions: 8, targets: ['up1/mine'] } },
  });
  assert.equal((await embedded(await embed(gateway, 'alpha-embedding'))).data[0]!.embedding.length, 1_024);
});

test('targets may name the gateway’s own model', async () => {
  const { gateway, upstream } = await serve({
    models: { words: { type: 'embedding', targets: [`culvert/${lexical}`] } },
  });
  const { model, data } = await embedded(await embed(gateway, 'words'));
  assert.deepEqual([model, data[0]!.embedding.length], ['words', 1_024]);
  assert.ok(!upstream.requests().some(({ path }) => path.endsWith('/embeddings')));
  const known = [...builtInEngines.keys(), espeakModel, ...modelManifests.map(({ id }) => id)];
  assert.deepEqual([builtInProvider, [...builtInModels]], [engineProvider, known], 'one list, twice');
});

test('§2.6 "Some embedding aliases show `model_type` = `chat` for historical routing reasons and still work on the embeddings endpoint"', async () => {
  const { gateway } = await serve({
    models: {
      odd: { type: 'embedding', listed_as: 'chat', dimensions: 1_024, targets: ['up1/mine'] },
      'listed-wrong': { targets: ['up1/sim/embedding'] },
    },
  });
  const listed = await entries(gateway);
  for (const id of ['odd', 'listed-wrong']) {
    assert.equal(listed.get(id)?.model_type, 'chat');
    assert.equal((await embedded(await embed(gateway, id))).data.length, 1);
  }
});

test('§2.6, design §6: an embedding model’s entry has `dimensions`, as declared or as publicly known', async () => {
  const { gateway } = await serve({
    models: {
      declared: { type: 'embedding', dimensions: 512, targets: ['up1/mine'] },
      known: { type: 'embedding', targets: ['up1/text-embedding-3-large'] },
      unknown: { type: 'embedding', targets: ['up1/mine'] },
    },
  });
  const listed = await entries(gateway);
  assert.deepEqual(
    ['declared', 'known', 'unknown', 'chat'].map((id) => listed.get(id)?.dimensions),
    [512, 3_072, null, null],
  );
});

test('a key that may not use them is told so, and the list leaves them out', async (t) => {
  const gateway = await startGateway(t, { plans: { default: { models: ['sim/*', 'alpha-*'] } } });
  const response = await embed(gateway, 'gamma-m3');
  assert.equal(response.status, 403);
  assert.match(((await response.json()) as { error: { message: string } }).error.message, /alpha-embedding-small/);
  assert.ok(!(await entries(gateway)).has(lexical));
});

test('while a provider that may embed has not told its models, the six are 503 and not another model', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  upstream.script('/v1/models', ['always status=503']);
  const gateway = await startGateway(t, {
    providers: { up1: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret-1' } },
    models: { chat: { targets: ['up1/mock/ok'] } },
  });
  await gateway.modelsKnown;
  const response = await embed(gateway, 'alpha-embedding');
  assert.equal(response.status, 503);
  assert.match(
    ((await response.json()) as { error: { message: string } }).error.message,
    /list of models of up1 so far/,
  );
});
