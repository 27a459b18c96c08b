import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countingTurns } from '../../../test/turns-of.ts';
import type { BatchRun } from './batch-parts.ts';
import { linesOf } from './lines-of.ts';
import { writeResults } from './write-results.ts';

test('between the lines of a file others have their turns of the loop', async () => {
  async function* content() {
    yield Buffer.from('{"custom_id":"a"}\n'.repeat(20_000));
  }
  let lines = 0;
  const { turns } = await countingTurns(async () => {
    for await (const line of linesOf(content(), 1_000)) if (line !== null) lines += 1;
  });
  assert.equal(lines, 20_000);
  assert.ok(turns >= 100, `${turns} turns`);
});

test('while the results of a batch are written, others have their turns of the loop', async () => {
  const answers = 20_000;
  const run = {
    batch: { id: 'batch_1', tenant: 't', format: 'openai', outputKeptForMs: null },
    store: {
      results: async (_: string, after: number, limit: number) =>
        Array.from({ length: Math.min(limit, answers - after) }, (__, at) => ({
          seq: after + at + 1,
          state: 'succeeded',
          result: Buffer.from('{}'),
        })),
    },
    sealer: { open: (text: Uint8Array) => text },
    files: {
      async write(_: string, __: object, content: AsyncIterable<Buffer>) {
        let lines = 0;
        for await (const line of content) lines += line.length / 3;
        return { id: `file of ${lines} lines` };
      },
    },
  } as unknown as BatchRun;
  let id = '';
  const { turns } = await countingTurns(async () => {
    id = await writeResults(run, { which: 'all', name: 'output', gaps: null });
  });
  assert.equal(id, 'file of 20000 lines');
  assert.ok(turns >= 100, `${turns} turns`);
});
