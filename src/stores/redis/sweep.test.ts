import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newLeaseId } from './lua-ahead.ts';
import { forgetScript, oldScript } from './lua-seed.ts';
import { createSweep } from './sweep.ts';

/** A sweep of `dev` over old entries as Redis has them, and what the ledger knows of them. */
function sweepOf(entries: Record<string, string>, ledger: { open: string[]; settled: string[] }, running?: number) {
  const settled: unknown[] = [];
  const forgotten: unknown[] = [];
  const looked: string[] = [];
  const link = {
    ready: () => true,
    async run(script: unknown, keys: readonly string[], args: readonly string[]) {
      if (script === forgetScript) forgotten.push(args);
      else {
        assert.equal(script, oldScript);
        looked.push(keys[0]!);
      }
      return [0, running ?? Object.keys(entries).length, ...Object.entries(entries).flat()];
    },
  };
  const books = {
    seed: async (_account: string, _scopes: unknown, ids: readonly string[]) => ({
      open: ledger.open.filter((id) => ids.includes(id)).map((requestId) => ({ requestId })),
      settled: new Map(ledger.settled.map((id) => [id, 0])),
    }),
  };
  const settle = ({ requestId, account }: { requestId: string; account: string }, spent: object) =>
    settled.push([account, requestId, spent]);
  const sweep = createSweep(link as never, books as never, { settle } as never);
  sweep.used('dev');
  return { sweep, settled, forgotten, looked };
}

const entry = '1750000000000|2000|key:one\nuser:two';
const nothing = { costMilli: 0, tokens: 0, usdNano: 0 };

test('what the ledger never got is given back, and what runs or waits for its settlement is left', async (t) => {
  const entries = { runs: entry, lost: entry, ended: entry };
  const { sweep, settled, forgotten } = sweepOf(entries, { open: ['runs'], settled: ['ended'] });
  t.after(() => sweep.close());
  await sweep.run();
  assert.deepEqual([settled, forgotten], [[['dev', 'lost', nothing]], []]);
});

test('what the ledger has settled is forgotten a round later', async (t) => {
  const { sweep, settled, forgotten } = sweepOf({ ended: entry }, { open: [], settled: ['ended'] });
  t.after(() => sweep.close());
  await sweep.run();
  assert.deepEqual(forgotten, []);
  await sweep.run();
  assert.deepEqual([settled, forgotten], [[], [['ended']]]);
});

test('leases of processes that are gone count as used', async (t) => {
  const lease = newLeaseId();
  const { sweep, settled } = sweepOf({ [lease]: entry }, { open: [], settled: [] });
  t.after(() => sweep.close());
  await sweep.run();
  assert.deepEqual(settled, [['dev', lease, { ...nothing, costMilli: 2_000 }]]);
});

test('an account where nothing runs is left until it is used again, and one that another process looks at is not', async (t) => {
  for (const [running, looks] of [
    [0, 1],
    [-1, 2],
  ] as const) {
    // biome-ignore format: a table
    const { sweep, looked } = sweepOf({}, { open: [], settled: [] }, running);
    t.after(() => sweep.close());
    await sweep.run();
    await sweep.run();
    assert.equal(looked.length, looks);
    sweep.used('dev');
    await sweep.run();
    assert.equal(looked.length, looks + 1);
  }
});
