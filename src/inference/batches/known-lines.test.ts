import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BegunLine } from '../../books/metering/batch-store.ts';
import { knownLines } from './known-lines.ts';

/** Looks for lines among `rows`; `paid`: requests that the ledger charges. */
function lookedFor(rows: readonly BegunLine[], { paid = [] as string[], fresh = [] as number[] } = {}) {
  const reads: number[] = [];
  const questions: string[][] = [];
  const run = {
    batch: { id: 'b', account: 'a' },
    store: {
      async lines(_id: string, after: number, most: number) {
        reads.push(after);
        return rows.filter(({ seq }) => seq > after).slice(0, most);
      },
    },
    async charged(_account: string, ids: string[]) {
      questions.push(ids);
      return new Set(ids.filter((id) => paid.includes(id)));
    },
  };
  const find = knownLines(run as never, (part) => fresh.includes(part));
  return {
    find: async (seq: number) => (await find(seq))?.requestId ?? null,
    isPaid: async (seq: number) => (await find(seq))?.isPaid,
    reads,
    questions,
  };
}

const line = (seq: number, more: Partial<BegunLine> = {}): BegunLine => ({
  seq,
  requestId: `r${seq}`,
  ended: false,
  part: null,
  returned: false,
  ...more,
});

test('lines are found in their order, with pages of 500 rows, each read once', async () => {
  const rows = Array.from({ length: 1_000 }, (_, at) => line(2 * (at + 1)));
  const { find, reads } = lookedFor(rows);
  for (const seq of [1, 2, 3, 4, 900, 999, 1_000, 1_001, 1_002, 1_998, 1_999, 2_000, 2_001, 2_002])
    assert.equal(await find(seq), seq % 2 === 0 && seq <= 2_000 ? `r${seq}` : null, String(seq));
  assert.deepEqual(reads, [0, 1_000, 2_000], 'until a page is not full');
});

test('the last page is not read again, and a batch without rows is asked about once', async () => {
  const few = lookedFor([line(1), line(3)]);
  assert.deepEqual([await few.find(3), await few.find(4), await few.find(9)], ['r3', null, null]);
  assert.deepEqual(few.reads, [0]);
  const none = lookedFor([]);
  assert.deepEqual([await none.find(1), await none.find(2)], [null, null]);
  assert.deepEqual([none.reads, none.questions], [[0], []]);
});

test('the ledger is asked about lines that may be paid alone: begun here, or back from a part that another took', async () => {
  const rows = [
    line(1),
    line(2, { ended: true }),
    line(3, { part: 7 }),
    line(4, { part: 7, returned: true }),
    line(5, { part: 8, returned: true }),
  ];
  const { isPaid, questions } = lookedFor(rows, { paid: ['r1', 'r2', 'r3', 'r4', 'r5'], fresh: [8] });
  assert.deepEqual(
    [await isPaid(1), await isPaid(2), await isPaid(3), await isPaid(4), await isPaid(5)],
    [true, false, false, true, false],
  );
  assert.deepEqual(questions, [['r1', 'r4']]);
});
