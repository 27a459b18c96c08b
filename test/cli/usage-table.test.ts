import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usageTable } from '../../src/cli/commands/usage.ts';

const told = {
  group: 'told',
  requests: 2,
  units: 2,
  input_tokens: 30,
  output_tokens: 12,
  cost_usd: 0.1,
  errors: 0,
  counted_tokens: 0,
  estimated_tokens: 0,
  counted_cost_usd: 0,
  estimated_cost_usd: 0,
  unpriced_requests: 0,
};

test('the table of usage says what was counted or estimated where anything was, in the total too', () => {
  assert.doesNotMatch(usageTable([told], 'model'), /counted|estimated/);
  const untold = { ...told, group: 'untold', counted_tokens: 42, counted_cost_usd: 0.1 };
  const left = { ...told, group: 'left', output_tokens: 0, cost_usd: 0, estimated_tokens: 30 };
  const [head, ...rows] = usageTable([told, untold, left, { ...left, group: 'gone' }], 'model')
    .trimEnd()
    .split('\n');
  assert.match(head!, /errors +counted tokens +estimated tokens +counted USD$/);
  assert.match(rows.at(-1)!, /^total .* 0 +42 +60 +0\.1$/);
});

test('requests whose model has no price are not $0 in the table of usage', () => {
  const none = { ...told, group: 'none', cost_usd: 0, unpriced_requests: 2 };
  const rows = usageTable([told, none, { ...told, group: 'some', unpriced_requests: 1 }], 'model')
    .trimEnd()
    .split('\n');
  assert.match(rows[1]!, /^told .* 0\.1 /);
  assert.match(rows[2]!, /^none .* 2 without a price /);
  assert.match(rows[4]!, /^total .* 0\.2 \+ 3 without a price /);
});
