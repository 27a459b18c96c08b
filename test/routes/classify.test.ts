import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { callAdmin } from '../call-admin.ts';
import { startGateway } from '../start-gateway.ts';
import { startQuietUpstream } from '../steps/quiet-upstream.ts';
import { until } from '../until.ts';

/** Rules that choose a model by examples of what users ask. */
const upstream = await startQuietUpstream();
after(upstream.close);
const provider = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' };
const models = {
  small: { targets: ['up/small'] },
  large: { targets: ['up/large'] },
  middle: { targets: ['up/middle'] },
  broken: { type: 'embedding', targets: ['gone/embed'] },
};
const providers = { up: provider, gone: { type: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'k' } };
const classes = [
  { model: 'small', examples: ['Say hello to the team', 'Translate hello into French', 'Write a short greeting'] },
  { model: 'large', examples: ['Prove the theorem about primes', 'Prove that the series converges', 'Find the proof'] },
];
// It compares words, and is always there.
const classify = { embedding_model: 'culvert-lexical-1024', classes, otherwise: 'middle', deadline: '10s' };
const base = { providers, models };
const gateway = await startGateway({ after } as TestContext, base);
const rules = (routes: Record<string, unknown>) => gateway.reload({ ...base, routes });

interface Recorded {
  route: { rules?: { applied: string[]; classified?: { rule: string; model: string | null; score: number | null }[] } };
  tag: string | null;
}

async function ask(content: string, { path = '/v1/chat/completions', model = 'auto' } = {}) {
  const json = {
    model,
    max_tokens: 50,
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Yes?' },
      { role: 'user', content },
    ],
  };
  const response = await gateway.fetch(path, { json });
  await response.text();
  const id = response.headers.get('x-culvert-request-id') ?? '';
  return { status: response.status, model: response.headers.get('x-culvert-model'), id };
}

async function recordOf(id: string): Promise<Recorded> {
  let found: Recorded | null = null;
  await until('it is in the ledger', async () => {
    const { status, body } = await callAdmin<Recorded>(gateway, 'GET', `/requests/${id}`);
    found = body;
    return status === 200;
  });
  return found!;
}

test('the newest text of the user decides which model answers, in every format, and the record says how', async () => {
  await rules({ auto: { when: 'model == "auto"', classify } });
  for (const path of ['/v1/chat/completions', '/v1/messages']) {
    assert.equal((await ask('Say hello to my team in French', { path })).model, 'small', path);
    const proof = await ask('Prove the theorem that the series of primes converges', { path });
    assert.equal(proof.model, 'large', path);
    const { rules: record } = (await recordOf(proof.id)).route;
    const [found] = record?.classified ?? [];
    assert.deepEqual([record?.applied, found?.rule, found?.model], [['auto'], 'auto', 'large']);
    assert.ok(Number(found?.score) > 0.2 && Number(found?.score) <= 1, String(found?.score));
  }
  assert.equal((await ask('Zwölf Boxkämpfer jagen Viktor')).model, 'middle', 'of no class');
  assert.equal((await ask('Prove the theorem', { model: 'small' })).model, 'small', 'the condition counts');
});

test('without a vector in time the model is that of `otherwise`, and the request is answered', async () => {
  await rules({
    auto: { when: 'model == "auto"', classify: { ...classify, embedding_model: 'broken', deadline: '1s' } },
  });
  const answer = await ask('Prove the theorem');
  assert.deepEqual([answer.status, answer.model], [200, 'middle']);
  assert.deepEqual((await recordOf(answer.id)).route.rules?.classified, [{ rule: 'auto', model: null, score: null }]);
});

test('a rule that observes records the model, changes nothing, and lets later rules be tried', async () => {
  await rules({
    look: { classify: { ...classify, observe: true } },
    tagged: { tag: 'after' },
  });
  const answer = await ask('Prove the theorem about primes', { model: 'small' });
  assert.equal(answer.model, 'small');
  const { route, tag } = await recordOf(answer.id);
  assert.deepEqual(route.rules?.applied, ['look', 'tagged']);
  assert.equal(tag, 'after');
  const [found] = route.rules?.classified ?? [];
  assert.deepEqual({ ...found, score: 0 }, { rule: 'look', model: 'large', score: 0, observed: true });
});

test('the vectors are asked for by the server: no rule applies to them, and the operator pays', async () => {
  await rules({
    auto: { classify },
    stop: { when: 'endpoint == "embeddings"', refuse: { message: 'No.' }, order: -1 },
  });
  const answer = await ask('Say hello to the team');
  assert.equal(answer.model, 'small');
  const { body } = await callAdmin<{ data: { tag: string }[] }>(gateway, 'GET', '/requests?account=(server)&limit=1');
  const [row] = body.data;
  assert.equal(row?.tag, 'rule');
});

test("a caller's data rules keep its text from the embedding model", async () => {
  await gateway.reload({
    ...base,
    accounts: { dev: { data: { no_training: true } } },
    providers: { ...providers, up: { ...provider, data: { trains: false } } },
    routes: { auto: { when: 'model == "auto"', classify } },
  });
  const answer = await ask('Prove the theorem about primes');
  assert.deepEqual([answer.status, answer.model], [200, 'middle']);
});

test('what is wrong with classes is said at its place', async () => {
  const wrong = async (rule: Record<string, unknown>) =>
    JSON.stringify((await callAdmin(gateway, 'POST', '/routes', { name: 'wrong', ...rule })).body);
  await gateway.reload(base);
  assert.match(await wrong({ classify: { ...classify, classes: [classes[0]] } }), /classify\.classes/);
  assert.match(await wrong({ classify: { ...classify, otherwise: 'mddle' } }), /did you mean 'middle'/);
  assert.match(await wrong({ classify: { ...classify, embedding_model: 'nobody' } }), /there is no such model/);
  assert.match(await wrong({ classify, model: 'small' }), /expected either model or classify/);
});
