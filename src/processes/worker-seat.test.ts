import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findInTurns } from './worker-seat.ts';

test('an item that reaches the primary a moment later is found, and one that nobody needs is not waited for', async () => {
  const looks: string[][] = [];
  const find = findInTurns(async (_tenant, references) => {
    const there = ({ id }: { id: string }) => id === 'msg_1' || (id === 'msg_late' && looks.length > 0);
    const found = references.filter(there).map(({ id }) => [id, { id }]);
    looks.push(references.map(({ id }) => id));
    return Object.fromEntries(found);
  });
  const needed = (id: string) => ({ id, field: 'input[0]', use: 'needed' as const });
  const thought = { id: 'rs_gone', field: 'input[1]', use: 'thought' as const };
  assert.deepEqual(Object.keys(await find('dev/laptop', [needed('msg_1'), needed('msg_late'), thought])), [
    'msg_1',
    'msg_late',
  ]);
  assert.deepEqual(looks.splice(0), [['msg_1', 'msg_late', 'rs_gone'], ['msg_late']]);

  await find('dev/laptop', [needed('msg_1'), thought]);
  assert.equal(looks.length, 1);
});
