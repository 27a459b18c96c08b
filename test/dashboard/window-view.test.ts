import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freed } from '../../web/src/parts/window-view.ts';

const again = 'available again';
const gone = 'not counted any more';

for (const [used, limit, frees, part, is] of [
  [12, 80, 3, 3, again],
  [80, 80, 1, 1, again],
  [123, 80, 1, 1, gone],
  [123, 80, 43, 43, gone],
  [82, 80, 5, 3, again],
  [80.3, 80, 0.2, 0.2, gone],
  // In floating point, 80 − 80.2 + 0.2 is not 0.
  [80.2, 80, 0.2, 0.2, gone],
  [80, 80, null, null, again],
  [81, 80, null, null, gone],
  [10, null, 2, 2, gone],
] as const) {
  test(`${used} of ${limit} are used, of which ${frees} leave next: ${part} ${is}`, () => {
    assert.deepEqual(freed({ used, limit, frees }), { part, is });
  });
}
