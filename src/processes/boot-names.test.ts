import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bootOf, isBootOver, serverOf } from './boot-names.ts';

test('a boot is over when its worker has ended, or its server is another one', () => {
  const own = bootOf('server', 2, 3);
  assert.equal(serverOf(own), 'server');
  const isOver = (place: number, generation: number, server = 'server') =>
    isBootOver(bootOf(server, place, generation), own, [0, 2]);
  assert.deepEqual(
    [isOver(1, 1), isOver(2, 1), isOver(2, 2), isOver(2, 3), isOver(3, 1)],
    [false, true, true, false, false],
  );
  assert.equal(isOver(1, 1, 'other'), true);
});
