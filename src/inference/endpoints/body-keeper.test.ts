import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import type { BodyRow } from '../../books/metering/body-store.ts';
import { createSealer } from '../../kernel/seal.ts';
import { createBodyKeeper } from './body-keeper.ts';

test('looks and removals wait for what other workers write', async () => {
  const rows: BodyRow[] = [];
  let finished = () => {};
  const store = {
    list: async () => [...rows],
    remove: async () => rows.splice(0).length,
  };
  let mine: (() => Promise<void>) | null = null;
  const keeper = createBodyKeeper({
    rules: {} as Parameters<typeof createBodyKeeper>[0]['rules'],
    stores: { bodies: async () => store as never, mayHaveBodies: () => true },
    sealer: createSealer(['a secret of this test, 32 bytes long'], 'bodies'),
    limits: () => ({ retention: 1, max_bytes: 1 }),
    room: { refusal: () => null, taken() {} },
    clock: fakeClock(),
    others: {
      shareBodyWrites(written) {
        mine = written;
        return () =>
          new Promise((resolve) => {
            finished = () => {
              rows.push({ requestId: 'req_1' } as BodyRow);
              resolve();
            };
          });
      },
    },
    onTrouble: assert.fail,
  });
  const listed = keeper.list({} as Parameters<typeof keeper.list>[0]);
  finished();
  assert.equal((await listed).length, 1);
  const removed = keeper.remove({ accounts: null });
  finished();
  assert.equal(await removed, 2);
  assert.equal(rows.length, 0);
  // Another worker that waits for this one does not wait for itself.
  await (mine as (() => Promise<void>) | null)?.();
});
