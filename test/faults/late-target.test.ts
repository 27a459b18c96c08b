import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertWithin, busyness } from '../machine-load.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { recordsOf } from './books-agree.ts';
import { answeredShare, type Calls, openLoop, statusesOf } from './many-calls.ts';

const upstream = await startUpstream();
after(() => upstream.close());
const names = ['slow', 'silent'] as const;
/** A busy machine is asked more slowly: more of its requests are under way while a target becomes slow. */
const slower = Math.min(6, busyness());
const gateway = await startGateway(
  { after: after as never },
  {
    // A busy machine would refuse some.
    server: { overload: 'off' },
    providers: Object.fromEntries(
      names.flatMap((alias) =>
        [1, 2].map((index) => [
          `${alias}-${index}`,
          { type: 'openai', base_url: `${upstream.url}/v1`, api_key: `key-of-${alias}-${index}` },
        ]),
      ),
    ),
    models: {
      slow: {
        targets: [
          { provider: 'slow-1', model: 'mock/delay=50ms', max_first_token: '1s' },
          { provider: 'slow-2', model: 'mock/delay=50ms', priority: 2 },
        ],
      },
      silent: {
        timeouts: { total: '6s' },
        targets: [
          { provider: 'silent-1', model: 'mock/hang' },
          { provider: 'silent-2', model: 'mock/ok', priority: 2 },
        ],
      },
    },
    keys: names.map((alias) => ({ key: `sk-cv-test-late-${alias}`, account: alias, name: alias })),
  },
);

test('F73 the first priority becomes slower than its max_first_token: the next one is asked, and then first', async () => {
  const before = await load('slow', 'stream', 10);
  assert.equal(answeredShare(before), 1);
  assert.deepEqual([callsTo('slow', 1), callsTo('slow', 2)], [10, 0]);
  upstream.script('/v1/chat/completions key-of-slow-1', ['always delay=20s']);
  const seen = await load('slow', 'stream', 40);
  assert.equal(answeredShare(seen), 1, statusesOf(seen));
  assertWithin(Math.max(...seen.map(({ ms }) => ms)), 15_000, 'the longest, which waits for no slow one,');
  const asked = callsTo('slow', 1) - 10;
  assert.ok(asked < 30, `${asked} of 40 were sent to the slow one`);
});

test('F73 a whole answer that waits at a silent target: the next is asked when half of the time is gone', async () => {
  const [seen] = await load('silent', 'whole', 1);
  assert.equal(seen!.status, 200);
  const [record] = await recordsOf({ url: gateway.url, adminKey, account: 'silent' });
  const [lost, won] = record!.route.attempts.toSorted((a, b) => a.provider.localeCompare(b.provider));
  assert.deepEqual([lost!.class, won!.class], ['cancelled', 'ok']);
});

function load(model: (typeof names)[number], form: Calls['form'], count: number) {
  const keys = [`sk-cv-test-late-${model}`];
  return openLoop({ url: gateway.url, model, keys, form, count, patienceMs: Math.ceil(slower * 30_000) }, 5 / slower);
}

function callsTo(alias: string, index: number): number {
  const authorization = `Bearer key-of-${alias}-${index}`;
  return upstream
    .requests()
    .filter(({ method, headers }) => method === 'POST' && headers.authorization === authorization).length;
}
