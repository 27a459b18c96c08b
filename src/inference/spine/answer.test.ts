import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCostOfAll } from './answer.ts';

test('the cost of several answers is that of all that have a price, in any order', () => {
  const priced = (usd: string) => ['x-culvert-attempts', '1', 'x-culvert-cost-usd', usd, 'x-culvert-model', 'm'];
  const unpriced = ['x-culvert-attempts', '1', 'x-culvert-model', 'm'];
  const usdOf = (...answers: readonly (readonly string[])[]) => {
    const joined = answers.reduce((before, headers) => withCostOfAll(headers, before), []);
    return joined.flatMap((name, at) => (name === 'x-culvert-cost-usd' ? [joined[at + 1]] : []));
  };
  assert.deepEqual(usdOf(priced('0.25'), priced('0.5')), ['0.75']);
  assert.deepEqual(usdOf(priced('0.25'), unpriced), ['0.25']);
  assert.deepEqual(usdOf(unpriced, priced('0.5')), ['0.5']);
  assert.deepEqual(usdOf(priced('0.25'), unpriced, priced('0.5')), ['0.75']);
  assert.deepEqual(usdOf(unpriced, unpriced), []);
});
