import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freed } from '../../web/src/parts/freed.ts';

const units = { measure: 'units', calendar: null, limit: 80 } as const;

for (const [view, words] of [
  [{ ...units, used: 12, frees: 3 }, '3 units are available again'],
  [{ ...units, used: 80, frees: 1 }, '1 unit is available again'],
  [{ ...units, used: 123, frees: 1 }, '1 unit stops counting'],
  [{ ...units, used: 123, frees: 43 }, '43 units stop counting'],
  [{ ...units, used: 82, frees: 5 }, '3 units are available again'],
  [{ ...units, used: 80, frees: null }, 'The next part is available again'],
  [{ ...units, used: 81, frees: null }, 'The oldest part stops counting'],
  [{ ...units, used: 10, frees: 2, limit: null }, '2 units stop counting'],
  [{ ...units, measure: 'usd', used: 80.3, frees: 0.2 }, '$0.20 stops counting'],
  [{ ...units, measure: 'usd', used: 80.2, frees: 0.2 }, '$0.20 stops counting'],
  [{ ...units, measure: 'usd', used: 80, frees: 0.2 }, '$0.20 is available again'],
  [
    { ...units, measure: 'usd', used: 90, frees: null, calendar: { period: 'day', time_zone: 'UTC' } },
    'All of it is available again',
  ],
] as const) {
  const { used, limit, frees } = view;
  test(`${used} of ${limit} ${view.measure} used, of which ${frees} leave next: ${words}`, () => {
    assert.equal(freed(view), words);
  });
}
