import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LimitRow, limitTable } from '../../src/cli/commands/people/windows.ts';

const limit = (measure: LimitRow['measure'], window: LimitRow['window'], used: number, allowed: number | null) => ({
  window,
  measure,
  calendar: null,
  tier: null,
  used,
  limit: allowed,
  soft: null as number | null,
  remaining: allowed === null ? null : allowed - used,
  frees_at: null,
});

test('units, USD, tokens and requests of an account are lines; what is neither limited nor used is not', () => {
  const windows = [
    limit('requests', 'minute', 3, 60),
    limit('units', '5h', 0, null),
    limit('tokens', 'minute', 0, null),
    limit('tokens', 'month', 1200, 50_000),
    limit('usd', 'month', 0.1 + 0.2, 200),
  ];
  const lines = limitTable({ data: [{ key: null, name: null, windows }] }).split('\n');
  assert.deepEqual(
    lines.map((line) => line.trim().split(/ {2,}/).slice(0, 4)),
    [
      ['window', 'measure', 'used', 'allowed'],
      ['minute', 'requests', '3', '60'],
      ['5h', 'units', '0', 'unlimited'],
      ['month', 'tokens', '1200', '50000'],
      ['month', 'USD', '0.3', '200'],
    ],
  );
});

test('where a plan counts by key, each line names its key', () => {
  const data = ['laptop', 'ci'].map((name) => ({ key: `k-${name}`, name, windows: [limit('units', '5h', 1, 5)] }));
  assert.match(limitTable({ data }), /^key +window[\s\S]*^laptop +5h[\s\S]*^ci +5h/m);
});
