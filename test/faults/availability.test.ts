import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { busyness } from '../machine-load.ts';
import { adminKey, startGateway, testProcesses } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { disagreements, recordsOf } from './books-agree.ts';
import { closedPlace } from './dead-places.ts';
import { answeredShare, type CallSeen, type Calls, openLoop, statusesOf } from './many-calls.ts';

const seconds = 15;
/** A busy machine is asked more slowly, and callers wait longer for it: what it has no time for is no failure of upstreams. */
const slower = Math.min(6, busyness());

// Limits are those of `npm run bench -- availability` less what chance takes from four hundred requests, four sigma.
const aliases = {
  'three-at-30': { specs: ['flap=0.3;seed=1', 'flap=0.3;seed=2', 'flap=0.3;seed=3'], rate: 25, atLeast: 0.966 },
  'two-at-50': { specs: ['flap=0.5;seed=4', 'flap=0.5;seed=5'], rate: 25, atLeast: 0.88 },
  'one-at-30': { specs: ['flap=0.3;seed=6'], rate: 25, atLeast: 0.966 },
  'each-second': { specs: ['every=2;seed=7', 'every=2;seed=8'], rate: 15, atLeast: 0.92 },
  'in-turns': { specs: ['alternate=1s', 'alternate=1s/down'], rate: 15, atLeast: 1 },
  outage: { specs: ['status=503', 'status=503'] },
  'one-dead': { specs: ['closed', 'ok'] },
  'poison-one': { specs: ['prompt=poison;status=500'] },
  'poison-two': { specs: ['prompt=poison;status=500', 'prompt=poison;status=500'] },
  'poison-flood': { specs: ['prompt=poison;status=500'] },
} as const;
type Alias = keyof typeof aliases;

const upstream = await startUpstream();
after(() => upstream.close());
const closed = await closedPlace();
const providerOf = (alias: string, index: number) => `${alias}-${index + 1}`;
const keysOf = (alias: string) => ['a', 'b', 'c'].map((name) => `sk-cv-test-${alias}-${name}`);
const targets = Object.entries(aliases).flatMap(([alias, { specs }]) =>
  specs.map((spec, index) => ({ alias, spec, provider: providerOf(alias, index) })),
);
const gateway = await startGateway(
  { after: after as never },
  {
    // A busy machine would refuse some, and no record has those.
    server: { overload: 'off' },
    providers: Object.fromEntries(
      targets.map(({ provider, spec }) => [
        provider,
        { type: 'openai', base_url: `${spec === 'closed' ? closed : upstream.url}/v1`, api_key: `key-of-${provider}` },
      ]),
    ),
    models: Object.fromEntries(
      Object.keys(aliases).map((alias) => [
        alias,
        {
          targets: targets
            .filter((one) => one.alias === alias)
            .map(({ provider, spec }) => ({ provider, model: `mock/${spec === 'closed' ? 'ok' : spec}` })),
        },
      ]),
    ),
    keys: Object.keys(aliases).flatMap((alias) => keysOf(alias).map((key) => ({ key, account: alias, name: key }))),
  },
);

const shares = Object.entries(aliases).flatMap(([alias, one]) =>
  'atLeast' in one ? [{ alias: alias as Alias, rate: one.rate, atLeast: one.atLeast }] : [],
);

/** On a busy machine more requests are under way while a target turns from well to ill, so more of them fail. */
function isEnough(share: number, atLeast: number): boolean {
  return share >= atLeast || share >= atLeast - 0.02 * (busyness() - 1);
}

// All at once: each mostly waits.
describe('upstreams that fail in part', { concurrency: true }, () => {
  for (const { alias, rate, atLeast } of shares) {
    const number = alias === 'in-turns' ? 'F62' : 'F61';
    test(`${number} ${alias}: ${atLeast * 100} % are answered, and of the last as many as of the first`, async () => {
      const seen = await load(alias, rate);
      const share = answeredShare(seen);
      assert.ok(isEnough(share, atLeast), `${share * 100} % answered; failed with ${statusesOf(seen)}`);
      const last = answeredShare(seen, ({ sinceMs }) => sinceMs > (slower * seconds * 1_000) / 2);
      assert.ok(isEnough(last, atLeast - 0.02), `${last * 100} % of the second half`);
      await agree(alias, seen);
    });
  }

  test('F61 one dead of two: all are answered, and once three found it dead, single requests look at it ever more rarely', async () => {
    const seen = await load('one-dead', 15);
    assert.equal(answeredShare(seen), 1);
    const records = await recordsOf({ url: gateway.url, adminKey, account: 'one-dead' });
    const sentThere = records
      .filter(({ route }) => route.attempts.length > 1)
      .map(({ created_at, route }) => ({
        atMs: Date.parse(created_at),
        endMs: Date.parse(created_at) + route.attempts[0]!.ms,
      }));
    // Before three refusals in a row are known, as many are sent there as come meanwhile: more on a busy machine.
    const knownMs = sentThere.map(({ endMs }) => endMs).sort((a, b) => a - b)[2] ?? Number.POSITIVE_INFINITY;
    const looks = sentThere.filter(({ atMs }) => atMs > knownMs).length;
    const lastMs = Math.max(...records.map(({ created_at }) => Date.parse(created_at)));
    // After 1 s, 2 s, 4 s and so on.
    const steps = Math.ceil(Math.log2(Math.max(1, lastMs - knownMs) / 1_000 + 1));
    // Each worker looks.
    assert.ok(looks <= (steps + 1) * testProcesses, `${looks} of ${seen.length} in ${lastMs - knownMs} ms`);
  });

  test('F61 everything fails: after the first second 1.25 upstream calls a request at most', async () => {
    // Each worker looks whether it is over.
    const callsEach = 1.25 + 0.1 * (testProcesses - 1);
    const startMs = Date.now();
    const seen = await load('outage', 25);
    const records = await recordsOf({ url: gateway.url, adminKey, account: 'outage' });
    const later = records.filter(({ created_at }) => Date.parse(created_at) >= startMs + 1_000);
    const calls = later.reduce((sum, { route }) => sum + route.attempts.length, 0);
    // Requests of the first second give later ones a part of what these may use.
    const callsMost = later.length + (callsEach - 1) * records.length;
    assert.ok(calls <= callsMost, `${calls} calls for ${later.length} requests of ${records.length}`);
    assert.ok(calls > later.length / 2, `${calls} calls: nobody would see that it is over`);
    await agree('outage', seen);
  });

  for (const [alias, poisonedPerSecond] of [
    ['poison-one', 1 / 1.5],
    ['poison-two', 1 / 1.5],
    // Most requests to the target fail, and all of those belong to one key.
    ['poison-flood', 20],
  ] as const) {
    test(`S26 ${alias}: a prompt that its provider cannot stand fails alone`, async () => {
      const [culprit = '', ...others] = keysOf(alias);
      const poisonous = { keys: [culprit], content: 'This is poison.', count: Math.floor(seconds * poisonedPerSecond) };
      // Others ended since its first failure: from then on it is known whom failures follow.
      const first = [
        ...(await load(alias, 1, { ...poisonous, count: 1 })),
        ...(await load(alias, 20, { keys: others, count: 6 })),
      ];
      const down = watchDown(alias);
      const [seen, bad] = await Promise.all([
        // Few enough that luck does not break a row of failures.
        load(alias, 3, { keys: others }),
        load(alias, poisonedPerSecond, poisonous),
      ]);
      const { looks, looksDown } = await down.stop();
      assert.equal(answeredShare(seen), 1, 'the others are answered');
      assert.equal(answeredShare(bad), 0);
      // On a busy machine its target is silent now and then.
      assert.ok(looksDown <= 0.02 * (busyness() - 1) * looks, `${looksDown} of ${looks} looks found the model down`);
      await agree(alias, [...first, ...seen, ...bad]);
    });
  }
});

/** Chats through `alias`, whole and streamed in turns. */
function load(alias: Alias, rate: number, more: Partial<Calls> = {}): Promise<CallSeen[]> {
  const calls: Calls = {
    url: gateway.url,
    model: alias,
    keys: keysOf(alias),
    form: 'both',
    count: rate * seconds,
    patienceMs: Math.ceil(slower * 15_000),
    runningMax: 40,
    ...more,
  };
  return openLoop(calls, rate / slower);
}

async function agree(alias: Alias, seen: readonly CallSeen[]): Promise<void> {
  const calls = callsTo(alias);
  const counts = aliases[alias].specs.map((_, index) => {
    const provider = providerOf(alias, index);
    return [provider, calls.filter(({ headers }) => headers.authorization === `Bearer key-of-${provider}`).length];
  });
  const upstreamCalls = async () => Object.fromEntries(counts);
  assert.deepEqual(await disagreements({ url: gateway.url, adminKey, account: alias, seen, upstreamCalls }), []);
}

function callsTo(alias: Alias) {
  return upstream
    .requests()
    .filter(({ method, headers }) => method === 'POST' && headers.authorization?.startsWith(`Bearer key-of-${alias}-`));
}

/** Counts how often the alias is shown as down. */
function watchDown(alias: Alias): { stop(): Promise<{ looks: number; looksDown: number }> } {
  let [looks, looksDown] = [0, 0];
  const look = async () => {
    const response = await gateway.fetch('/admin/v1/models', { headers: { authorization: `Bearer ${adminKey}` } });
    const { data } = (await response.json()) as { data: { id: string; status: string }[] };
    const found = data.find(({ id }) => id === alias);
    assert.ok(found);
    looks++;
    if (found.status === 'down') looksDown++;
  };
  const timer = setInterval(look, 200);
  return {
    async stop() {
      clearInterval(timer);
      await look();
      return { looks, looksDown };
    },
  };
}
