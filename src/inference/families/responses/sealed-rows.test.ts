import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countingTurns } from '../../../../test/turns-of.ts';
import type { Sealer } from '../../../kernel/seal.ts';
import { inTurns, sealedRows } from './sealed-rows.ts';

test('thousands of items are sealed and opened in many turns of the loop, in their order', async () => {
  const sealer: Sealer = { seal: (plain) => Buffer.from(plain), open: (sealed) => Buffer.from(sealed) };
  const rows = sealedRows(sealer);
  const items = Array.from({ length: 2_000 }, (_, at) => ({ id: `msg_${at}`, type: 'message' }));
  const sealed = await countingTurns(() => rows.items('t', 'conv', items));
  const opened = await countingTurns(() => inTurns(sealed.result, (row) => rows.item('t', 'conv', row)));
  assert.deepEqual(opened.result, items);
  for (const { turns } of [sealed, opened]) assert.ok(turns >= 7, `${turns} turns`);
});
