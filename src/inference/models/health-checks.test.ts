import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { targetOf } from '../../../test/simulation/routing-samples.ts';
import type { OutcomeClass } from '../../formats/neutral/outcome.ts';
import { providerTypes } from '../../formats/providers/catalog.ts';
import { createConnection } from '../../formats/providers/provider-connection.ts';
import { createHealth } from '../../routing/health.ts';
import { standingOf } from '../../routing/lane.ts';
import type { UpstreamObserver, UpstreamRequest } from '../../upstream/transport/upstream-call.ts';
import { startRestLooks } from './health-checks.ts';
import type { Snapshot } from './snapshot.ts';

/** One target with two credentials; `list` answers the provider's list of models, null: not at all. */
function setUp(t: TestContext, list: (secret: string) => { status: number; ids: readonly string[] } | null) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const clock = fakeClock();
  const health = createHealth({ clock });
  const target = targetOf('up/mock/one', { model: 'mock/one', credentials: ['up#0', 'up#1'] });
  const made = createConnection({
    name: 'up',
    provider: providerTypes.get('openai')!,
    baseUrl: 'http://up.test/v1',
    secrets: ['secret-0', 'secret-1'],
    headers: {},
    apiVersion: null,
  });
  assert.ok(made.ok);
  const looks: string[] = [];
  const transport = {
    send({ method, path, headers }: UpstreamRequest, observer: UpstreamObserver) {
      const secret = headers[headers.indexOf('authorization') + 1]!.replace('Bearer ', '');
      looks.push(`${method} ${path} ${secret}`);
      const answer = list(secret);
      queueMicrotask(() => {
        if (answer === null) return observer.failed({ kind: 'reset', message: 'reset' });
        observer.headers(answer.status, { get: () => undefined, names: () => [] });
        observer.data(Buffer.from(JSON.stringify({ object: 'list', data: answer.ids.map((id) => ({ id })) })));
        observer.ended();
      });
      return { abort() {}, pause() {}, resume() {} };
    },
  };
  const snapshot = {
    models: { targets: () => [target] },
    providers: new Map([['up', { connection: made.connection }]]),
  } as unknown as Snapshot;
  const stop = startRestLooks({ clock, transport: transport as never, health, snapshots: { current: snapshot } });
  t.after(stop);

  const lanes = health.lanes(target);
  function fails(outcome: OutcomeClass): void {
    const attempt = {};
    health.began(lanes[0]!, attempt, 600_000, clock.monotonicMs());
    const end = { class: outcome, retryAfterMs: null, afterMs: 0, content: 'none', tenant: 'dev/laptop' } as const;
    health.ended(lanes[0]!, attempt, end, clock.monotonicMs());
  }
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      clock.advance(500);
      t.mock.timers.tick(500);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  const standings = () => lanes.map((lane) => standingOf(lane, clock.monotonicMs()));
  return { fails, pass, looks, standings, stop };
}

test('a refused credential is tried after 5 s by its list of models, and is back when that is answered', async (t) => {
  const { fails, pass, looks, standings } = setUp(t, () => ({ status: 200, ids: [] }));
  fails('bad_credential');
  await pass(4_500);
  assert.deepEqual([looks, standings()], [[], ['open', 'ready']]);
  await pass(500);
  assert.deepEqual(looks, ['GET /v1/models secret-0']);
  assert.deepEqual(standings(), ['ready', 'ready']);
  await pass(60_000);
  assert.equal(looks.length, 1, 'what is back is not looked at');
});

test('while it is still refused, it is looked at after 30 s and then every 5 min', async (t) => {
  const { fails, pass, looks, standings } = setUp(t, () => ({ status: 401, ids: [] }));
  fails('bad_credential');
  for (const [ms, count] of [
    [5_000, 1],
    [29_500, 1],
    [500, 2],
    [299_500, 2],
    [500, 3],
    [300_000, 4],
  ] as const) {
    await pass(ms);
    assert.equal(looks.length, count);
    assert.equal(standings()[0], 'open');
  }
});

test('a model that was gone is back when it is listed again', async (t) => {
  let ids = ['mock/two'];
  const { fails, pass, looks, standings } = setUp(t, () => ({ status: 200, ids }));
  fails('model_unavailable');
  await pass(5_000);
  assert.deepEqual([looks.length, standings()[0]], [1, 'open']);
  ids = ['mock/two', 'mock/one'];
  await pass(30_000);
  assert.deepEqual([looks.length, standings()[0]], [2, 'ready']);
});

test('a list says nothing of quota: the next request may try', async (t) => {
  const { fails, pass, looks, standings } = setUp(t, () => ({ status: 200, ids: ['mock/one'] }));
  fails('quota_exhausted');
  await pass(5_000);
  assert.deepEqual([looks.length, standings()[0]], [1, 'due']);
});

test('a list that is not answered says nothing either', async (t) => {
  const { fails, pass, standings } = setUp(t, () => null);
  fails('bad_credential');
  await pass(5_000);
  assert.equal(standings()[0], 'due');
});

test('after a stop nothing is looked at', async (t) => {
  const { fails, pass, looks, stop } = setUp(t, () => ({ status: 200, ids: [] }));
  fails('bad_credential');
  stop();
  await pass(60_000);
  assert.deepEqual(looks, []);
});
