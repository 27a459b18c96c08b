import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../src/kernel/clock.ts';
import { createSealer } from '../../src/kernel/seal.ts';
import { openRedisCache } from '../../src/stores/cache/redis-cache.ts';
import { createSealedCache } from '../../src/stores/cache/sealed-cache.ts';
import { openSqliteCache } from '../../src/stores/cache/sqlite-cache.ts';
import { adminKey, otherKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { until } from '../until.ts';
import { type Asked, ask, type Format, type Question } from './formats.ts';
import { spellings, startAsked } from './start-asked.ts';

const upstream = await startAsked({ after } as TestContext);
/** 14 right answers in a row are enough for this error. */
const enough = 14;
/** The deadline is longer than a busy machine may need. */
const semantic = { model: 'embed', error: '20%', sample: '0%', deadline: '30s' };

const config = (over: object = {}, cache: object = {}) => ({
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: {
    chat: {
      targets: [{ provider: 'up', model: 'm', price: { input: 1_000, output: 1_000 } }],
      cache: { ttl: '1h', semantic: { ...semantic, ...over }, ...cache },
    },
    plain: { targets: [{ provider: 'up', model: 'm' }], cache: { ttl: '1h' } },
    embed: { type: 'embedding', targets: [{ provider: 'up', model: 'bag', price: { input: 10, output: 0 } }] },
  },
});
const gateway = await startGateway({ after } as TestContext, config());
const admin = { headers: { authorization: `Bearer ${adminKey}` } };

/** Asks, and gives what follows the answer a moment, so that the next question finds what this one left. */
async function asked(from: TestGateway, text: string, more: Question = {}, format: Format = 'chat'): Promise<Asked> {
  const before = upstream.embedded;
  const got = await ask(from, format, { ...more, text });
  if (got.cache !== 'miss') return got;
  for (let n = 0; n < 50 && upstream.embedded === before; n += 1) await pause(2);
  await pause(5);
  return got;
}

const isSemantic = ({ headers }: Asked) =>
  /^hit; semantic; similarity=[01]\.\d{3}; age=\d+$/.test(headers.get('x-culvert-cache') ?? '');

/** Asks spellings of a question until one of them is answered by meaning; how many were asked before. */
async function taught(from: TestGateway, question: string, more: Question = {}): Promise<number> {
  for (const [at, text] of spellings(question).entries()) {
    const got = await asked(from, text, more);
    assert.equal(got.status, 200, got.body);
    if (isSemantic(got)) return at;
  }
  return Number.POSITIVE_INFINITY;
}

test('a question is answered by meaning once enough others were compared, in every format', async () => {
  upstream.answer = () => 'Paris.';
  const before = upstream.asked;
  const first = await taught(gateway, 'the capital of France');
  assert.ok(first > enough, `after ${first}`);
  assert.equal(upstream.asked - before, first, 'until then the upstream was asked each time');
  const fresh = spellings('the capital of France').slice(first + 1);
  for (const format of ['chat', 'messages', 'responses', 'gemini'] as const) {
    for (const stream of [false, true]) {
      const got = await ask(gateway, format, { text: fresh.pop() ?? '', stream });
      assert.ok(isSemantic(got), `${format} ${stream}: ${got.headers.get('x-culvert-cache')}`);
      assert.match(got.text, /Paris\./);
    }
  }
  assert.equal(upstream.asked - before, first);
});

test('the books say that a hit was by meaning, how near it was, and who paid for the embeddings', async () => {
  const hit = await ask(gateway, 'chat', { text: 'So what is the capital of France, please?' });
  assert.ok(isSemantic(hit), String(hit.headers.get('x-culvert-cache')));
  const id = hit.headers.get('x-culvert-request-id');
  let row: Record<string, unknown> = {};
  await until('the row is written', async () => {
    const response = await gateway.fetch(`/admin/v1/requests/${id}`, admin);
    row = (await response.json()) as Record<string, unknown>;
    return response.status === 200;
  });
  assert.equal(row.cache, 'semantic');
  assert.ok(Number(row.saved_usd) > 0, JSON.stringify(row));
  assert.match(JSON.stringify(row), /"cacheSimilarity":0\.\d+|"cacheSimilarity":1/);
  const listed = await gateway.fetch('/admin/v1/requests?account=(server)&endpoint=embeddings', admin);
  const { data } = (await listed.json()) as { data: { account: string; model: string }[] };
  assert.ok(data.length > 0 && data.every(({ account, model }) => account === '(server)' && model === 'embed'));
  const kept = (await (await gateway.fetch('/admin/v1/cache', admin)).json()) as { models: Record<string, number>[] };
  const chat = kept.models.find(({ model }) => String(model) === 'chat');
  assert.ok(Number(chat?.semantic_hits) > 8, JSON.stringify(kept.models));
  const metrics = await (await gateway.fetch('/metrics', admin)).text();
  assert.match(metrics, /^culvert_cache_lookups_total\{outcome="semantic"\} \d+$/m);
});

test('a hit by meaning counts as that alone', async () => {
  const looks = async () => {
    const metrics = await (await gateway.fetch('/metrics', admin)).text();
    return ['hit', 'semantic', 'miss', 'error'].map((outcome) =>
      Number(metrics.match(new RegExp(`cache_lookups_total\\{outcome="${outcome}"\\} (\\d+)`))?.[1] ?? 0),
    );
  };
  const [hit, similar = 0, miss, error] = await looks();
  assert.ok(isSemantic(await ask(gateway, 'chat', { text: 'Hey, what is the capital of France, please?' })));
  assert.deepEqual(await looks(), [hit, similar + 1, miss, error]);
});

test('callers can only tighten: exact, off, refresh and max-age', async () => {
  const text = (n: number) => `Thanks, I really need to know the capital of France${'?'.repeat(n)}`;
  for (const [n, headers] of [
    { 'x-culvert-cache': 'exact' },
    { 'x-culvert-cache': 'refresh' },
    { 'x-culvert-cache-max-age': '0' },
  ].entries()) {
    assert.equal((await ask(gateway, 'chat', { text: text(n + 1), headers })).cache, 'miss', JSON.stringify(headers));
  }
  assert.equal((await ask(gateway, 'chat', { text: text(9), headers: { 'x-culvert-cache': 'off' } })).cache, 'bypass');
  assert.ok(isSemantic(await ask(gateway, 'chat', { text: text(10), headers: { 'x-culvert-cache': 'only' } })));
  const wrong = await ask(gateway, 'chat', { text: text(11), headers: { 'x-culvert-cache': 'similar' } });
  assert.equal(wrong.status, 400);
  assert.match(wrong.body, /exact/);
});

/** The classes of false hits that caches of others are known for. Each is a question near the one that is taught. */
const near: Record<string, (n: number) => Question & { text: string }> = {
  'another key': (n) => ({ text: spellings('the capital of France')[n % 40] ?? '', key: otherKey }),
  'another number': (n) => ({ text: `Please tell me the capital of France ${n}` }),
  'another name': (n) => ({ text: `Please tell me the capital of France${String.fromCharCode(97 + (n % 26))}` }),
  'one deciding word': (n) => ({
    text: `Please tell me the ${['former', 'worst', 'next', 'last'][n % 4]} capital of France`,
  }),
  'a negation': (n) => ({ text: `Please tell me ${['not', 'never', 'neither'][n % 3]} the capital of France` }),
  'a year': (n) => ({ text: `Please tell me the capital of France in ${1_900 + n}` }),
  'another temperature': (n) => ({
    text: spellings('the capital of France')[n % 40] ?? '',
    more: { temperature: (n + 1) / 1_000 },
  }),
  'a seed': (n) => ({ text: spellings('the capital of France')[n % 40] ?? '', more: { seed: n } }),
  'several answers': (n) => ({ text: spellings('the capital of France')[n % 40] ?? '', more: { n: 2 } }),
  'a format': (n) => ({
    text: spellings('the capital of France')[n % 40] ?? '',
    more: { response_format: { type: 'json_object' } },
  }),
  tools: (n) => ({
    text: spellings('the capital of France')[n % 40] ?? '',
    more: { tools: [{ type: 'function', function: { name: 'find', parameters: { type: 'object' } } }] },
  }),
  'another system prompt': (n) => ({
    text: '',
    more: {
      messages: [
        { role: 'system', content: `be bad ${n}` },
        { role: 'user', content: spellings('the capital of France')[n % 40] },
      ],
    },
  }),
  'other earlier turns': (n) => ({
    text: '',
    more: {
      messages: [
        { role: 'system', content: 'be good' },
        { role: 'user', content: `of which year? ${n}` },
        { role: 'assistant', content: 'of now' },
        { role: 'user', content: spellings('the capital of France')[n % 40] },
      ],
    },
  }),
  'a picture': (n) => ({
    text: '',
    more: {
      messages: [
        { role: 'system', content: 'be good' },
        {
          role: 'user',
          content: [
            { type: 'text', text: spellings('the capital of France')[n % 40] },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
          ],
        },
      ],
    },
  }),
  'another model': (n) => ({ text: spellings('the capital of France')[n % 40] ?? '', model: 'plain' }),
};

for (const [what, question] of Object.entries(near)) {
  test(`no answer by meaning over ${what}`, async () => {
    // Nobody learns that these are alike.
    upstream.answer = () => `Answer ${upstream.asked}.`;
    for (let n = 0; n < 40; n += 1) {
      const got = await ask(gateway, 'chat', question(n));
      assert.ok(!isSemantic(got) && got.text !== 'Paris.', `${n}: ${got.headers.get('x-culvert-cache')}`);
      if (what !== 'a picture') assert.equal(got.status, 200, got.body);
    }
  });
}

test('questions of the same words with different answers are never answered by meaning', async () => {
  // The difference check cannot tell them apart: what was measured does.
  const answer = (question: string) => (/dog.*cat/.test(question) ? 'Yes.' : 'No.');
  upstream.answer = answer;
  const [one, other] = ['is a dog larger than a cat', 'is a cat larger than a dog'].map(spellings);
  let wrong = 0;
  for (let n = 0; n < 40; n += 1) {
    for (const text of [one?.[n], other?.[n]]) {
      const got = await asked(gateway, text ?? '');
      if (got.text !== answer(text ?? '')) wrong += 1;
    }
  }
  assert.equal(wrong, 0);
});

test('a template around the question is taken out', async (t) => {
  const own = await startGateway(t, config({ deadline: '2s' }));
  upstream.answer = () => 'An answer.';
  const around = (text: string) =>
    `You are asked by a visitor of our shop. Answer in one line.\n\nQuestion: ${text}\n\nKeep to the facts that the shop has.`;
  for (const word of ['tea', 'salt', 'rice', 'corn', 'milk', 'wood', 'iron', 'glue', 'sand']) {
    await asked(own, around(`Where is the ${word}`));
  }
  const embedded: string[] = [];
  upstream.answer = (question) => {
    embedded.push(question);
    return 'An answer.';
  };
  let hits = 0;
  for (const text of spellings('where is the bread')) hits += isSemantic(await asked(own, around(text))) ? 1 : 0;
  assert.ok(hits > 10, `${hits} hits`);
  assert.ok(
    embedded.every((question) => question.includes('visitor')),
    'the model gets the whole question',
  );
});

test('an embedding that does not come is a miss, and the request is answered', async (t) => {
  const own = await startGateway(t, config({ deadline: '2s' }));
  upstream.answer = () => 'An answer.';
  await taught(own, 'the price of bread');
  upstream.silent = true;
  t.after(() => {
    upstream.silent = false;
  });
  const got = await ask(own, 'chat', { text: 'Hello, what is the price of bread?' });
  assert.deepEqual([got.status, got.cache, got.text], [200, 'miss', 'An answer.']);
});

test('later hits are checked, and false ones are counted and end the hits', async (t) => {
  const own = await startGateway(t, config({ sample: '100%' }));
  upstream.answer = () => 'Monday.';
  const texts = spellings('the day of the market');
  const counts = async () => {
    const kept = (await (await own.fetch('/admin/v1/cache', admin)).json()) as { models: Record<string, number>[] };
    const { checked_hits = 0, false_hits = 0 } = kept.models.find(({ model }) => String(model) === 'chat') ?? {};
    return { checked_hits, false_hits };
  };
  const next = () => texts.shift() ?? '';
  while ((await counts()).checked_hits === 0) assert.ok(!isSemantic(await asked(own, next())), 'all are checked');
  assert.equal((await counts()).false_hits, 0);
  upstream.answer = () => 'Tuesday.';
  await asked(own, next());
  await until('it was wrong', async () => (await counts()).false_hits === 1);
  assert.match(
    await (await own.fetch('/metrics', admin)).text(),
    /^culvert_cache_checked_hits_total\{outcome="wrong"\} 1$/m,
  );
  await own.reload(config({ sample: '0%', error: '18%' }));
  assert.ok(!isSemantic(await asked(own, next())), 'its bound is above the error now');
});

test('a judge compares answers where there is one, and the operator pays for it', async (t) => {
  const { models, ...rest } = config({ judge: 'referee' });
  const referee = { targets: [{ provider: 'up', model: 'referee' }] };
  const own = await startGateway(t, { ...rest, models: { ...models, referee } });
  const compared: { question: string; first: string; second: string }[] = [];
  let verdict = '"Same."';
  upstream.answer = (question, { model }) => {
    // Each time in other words.
    if (model !== 'referee') return `That is ${upstream.asked}.`;
    compared.push(JSON.parse(question));
    return verdict;
  };
  assert.ok((await taught(own, 'the age of the sun')) > enough);
  const last = compared.at(-1);
  assert.match(last?.question ?? '', /the age of the sun/);
  assert.match(`${last?.first} ${last?.second}`, /^That is \d+\. That is \d+\.$/);
  assert.notEqual(last?.first, last?.second);
  const rows = await own.fetch('/admin/v1/requests?account=(server)&endpoint=chat', admin);
  const { data } = (await rows.json()) as { data: { model: string }[] };
  assert.ok(data.length >= enough && data.every(({ model }) => model === 'referee'), JSON.stringify(data[0]));
  for (const [word, question] of [
    ['Different', 'the age of the moon'],
    ['The same, or different?', 'the age of the earth'],
  ] as const) {
    verdict = word;
    const before = compared.length;
    assert.equal(await taught(own, question), Number.POSITIVE_INFINITY, word);
    assert.ok(compared.length > before, word);
  }
});

test('another embedding model, another alias and a cleared cache begin anew', async (t) => {
  const own = await startGateway(t, config());
  upstream.answer = () => 'Green.';
  await taught(own, 'the colour of grass');
  const cleared = await own.fetch('/admin/v1/cache?model=chat', { ...admin, method: 'DELETE' });
  assert.equal(cleared.status, 200);
  assert.equal((await asked(own, 'Hello, what is the colour of grass, please?')).cache, 'miss');
  assert.ok((await taught(own, 'the colour of grass')) > 0);
});

test('a change of the model is a miss for similar questions too', async (t) => {
  const own = await startGateway(t, config());
  upstream.answer = () => 'Blue.';
  await taught(own, 'the colour of the sky');
  const changed = config();
  Object.assign(changed.models.chat.targets[0] ?? {}, { model: 'other' });
  await own.reload(changed);
  assert.equal((await asked(own, 'Hello, what is the colour of the sky, please?')).cache, 'miss');
});

const sealer = createSealer(['a secret of semantic tests, 32 bytes long'], 'cache');
const bounds = { scopeBytes: 1e8, totalBytes: 1e8 };
const places = {
  SQLite(t: TestContext) {
    const folder = mkdtempSync(join(tmpdir(), 'culvert-semantic-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    return () => openSqliteCache({ file: join(folder, 'cache.db'), bounds, clock: systemClock, onTrouble() {} });
  },
  async Redis(t: TestContext) {
    const { url } = await startRedis(t);
    return () => openRedisCache({ url, booksId: 'semantic', bounds, clock: systemClock, onTrouble() {} });
  },
};

for (const [name, place] of Object.entries(places)) {
  test(`${name}: what was measured is there after a restart`, {
    skip: name === 'Redis' ? redisMissing : false,
  }, async (t) => {
    const open = await place(t);
    upstream.answer = () => 'Sour.';
    const start = async () => {
      const cache = createSealedCache(open(), sealer, () => systemClock.wallMs());
      const own = await startGateway(t, config(), { cache });
      const stop = async () => {
        await own.close(0);
        await cache.close();
      };
      return { own, stop };
    };
    const first = await start();
    await until('the store is open', async () => {
      await asked(first.own, 'Is the store open');
      return (await ask(first.own, 'chat', { text: 'Is the store open' })).cache === 'hit';
    });
    await taught(first.own, 'the taste of lemons');
    await first.stop();
    const second = await start();
    await until(
      'the store is open',
      async () => (await ask(second.own, 'chat', { text: 'Is the store open' })).cache === 'hit',
    );
    // A look or an embedding that is late on a busy machine is a miss, whose answer is kept: each try has other words.
    const words = [
      'Hello, what is the taste of lemons, please?',
      'Hello, what is the taste of lemons?',
      'What is the taste of lemons, please?',
    ];
    const tries: boolean[] = [];
    for (const text of words) if (!tries.includes(true)) tries.push(isSemantic(await asked(second.own, text)));
    assert.ok(tries.includes(true));
    await second.stop();
  });
}
