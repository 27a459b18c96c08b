import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { disagreements } from './books-agree.ts';
import { answeredShare, type CallSeen, openLoop } from './many-calls.ts';

/** What the first target's streams do after ten chunks; the timeout for silence between two chunks. */
const aliases = {
  'stall-3s': { spec: 'chunks=20;stall=12events', idle: '3s' },
  'stall-30s': { spec: 'chunks=20;stall=12events', idle: '30s' },
  cut: { spec: 'chunks=20;cut=2000', idle: '30s' },
} as const;
type Alias = keyof typeof aliases;

const perSecond = 10;
const warm = 60;
const count = 200;

const upstream = await startUpstream();
after(() => upstream.close());
const keyOf = (alias: Alias) => `sk-cv-test-broken-${alias}`;
const credentialOf = (alias: Alias, index: number) => `key-of-${alias}-${index}`;
const gateway = await startGateway(
  { after: after as never },
  {
    providers: Object.fromEntries(
      Object.keys(aliases).flatMap((alias) =>
        [1, 2].map((index) => [
          `${alias}-${index}`,
          { type: 'openai', base_url: `${upstream.url}/v1`, api_key: credentialOf(alias as Alias, index) },
        ]),
      ),
    ),
    models: Object.fromEntries(
      Object.entries(aliases).map(([alias, { idle }]) => [
        alias,
        {
          timeouts: { idle },
          targets: [1, 2].map((index) => ({ provider: `${alias}-${index}`, model: 'mock/chunks=20;interval=20ms' })),
        },
      ]),
    ),
    plans: { default: { windows: 'off', rpm: 'off', concurrency: 200 } },
    keys: Object.keys(aliases).map((alias) => ({ key: keyOf(alias as Alias), account: alias, name: alias })),
  },
);

describe('F71 streams of one of two targets break after their first content', { concurrency: true }, () => {
  for (const [alias, { spec, idle }] of Object.entries(aliases) as [Alias, (typeof aliases)[Alias]][]) {
    test(`${alias}, idle timeout ${idle}: nearly all streams are whole, and it comes back once it is well`, async () => {
      const before = await load(alias, warm);
      // Its very first answer may have been the slow one, and then the other is asked more for some seconds.
      const warmEndMs = performance.now() + 60_000;
      while (callsTo(alias, 1).length <= warm / 5) {
        assert.ok(performance.now() < warmEndMs, 'both are asked');
        before.push(...(await load(alias, 20)));
      }
      assert.equal(answeredShare(before), 1);
      tell(alias, [`always interval=20ms;${spec}`]);
      const seen = await load(alias, count);
      const share = answeredShare(seen);
      assert.ok(share >= 0.9, `${share * 100} % whole`);
      const later = answeredShare(seen, ({ sinceMs }) => sinceMs > 6_000);
      assert.ok(later >= 0.95, `${later * 100} % whole once it is known`);
      const broken = callsTo(alias, 1).length;

      tell(alias, []);
      const endMs = performance.now() + 60_000;
      const after: CallSeen[] = [];
      while (callsTo(alias, 1).length < broken + 10) {
        assert.ok(performance.now() < endMs, 'it is not asked again');
        after.push(...(await load(alias, 20)));
      }
      assert.equal(answeredShare(after), 1);
      const upstreamCalls = async () =>
        Object.fromEntries([1, 2].map((index) => [`${alias}-${index}`, callsTo(alias, index).length]));
      const all = [...before, ...seen, ...after];
      assert.deepEqual(
        await disagreements({ url: gateway.url, adminKey, account: alias, seen: all, upstreamCalls }),
        [],
      );
    });
  }
});

/** Behaviour of calls to the first target from now on. */
function tell(alias: Alias, specs: readonly string[]): void {
  upstream.script(`/v1/chat/completions ${credentialOf(alias, 1)}`, specs);
}

function load(alias: Alias, calls: number): Promise<CallSeen[]> {
  const form = 'stream' as const;
  return openLoop(
    { url: gateway.url, model: alias, keys: [keyOf(alias)], form, count: calls, patienceMs: 60_000 },
    perSecond,
  );
}

function callsTo(alias: Alias, index: number) {
  const authorization = `Bearer ${credentialOf(alias, index)}`;
  return upstream
    .requests()
    .filter(({ method, headers }) => method === 'POST' && headers.authorization === authorization);
}
