// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ArenaFull, createArena } from './arena.ts';
import { createArenaRows } from './arena-rows.ts';

const page = 65_536;

test('blocks never overlap, and all that was given back can be taken again in one piece', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('alloc' as const), bytes: fc.integer({ min: 1, max: 5 * page }) }),
      fc.record({ kind: fc.constant('free' as const), which: fc.nat(100) }),
    ),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(steps, (list) => {
      const arena = createArena({ bytesMax: 40 * page });
      const held: { address: number; bytes: number }[] = [];
      for (const step of list) {
        if (step.kind === 'free') {
          const [block] = held.splice(step.which % Math.max(1, held.length), 1);
          if (block) arena.free(block.address, block.bytes);
          continue;
        }
        try {
          const block = { address: arena.alloc(step.bytes), bytes: step.bytes };
          for (const other of held) {
            assert.ok(
              block.address + block.bytes <= other.address || other.address + other.bytes <= block.address,
              'two blocks overlap',
            );
          }
          assert.ok(block.address + block.bytes <= arena.views.u8.length);
          held.push(block);
        } catch (error) {
          assert.ok(error instanceof ArenaFull);
        }
      }
      for (const { address, bytes } of held) arena.free(address, bytes);
      assert.equal(arena.bytesUsed, 0);
      assert.equal(arena.alloc(40 * page), 0);
    }),
    { numRuns: 50, seed: 4 },
  );
});

test('an arena never takes more than it may, and says so by ArenaFull', () => {
  const arena = createArena({ bytesMax: 3 * page + 1 });
  assert.equal(arena.bytesMax, 3 * page);
  arena.alloc(2 * page + 1);
  assert.throws(() => arena.alloc(1), ArenaFull);
  assert.equal(arena.views.u8.length, 3 * page);
  assert.equal(createArena({ bytesMax: 1 }).bytesMax, page);
});

test('the shared room grows in place of itself', () => {
  const arena = createArena({ bytesMax: 20 * page });
  const small = arena.scratch(10);
  assert.equal(arena.scratch(page), small);
  arena.scratch(2 * page);
  assert.equal(arena.bytesUsed, 2 * page);
});

test('rows that are added in one go are as many as asked for, however they fill their blocks', () => {
  const stride = 1_040;
  const inBlock = (() => {
    const rows = createArenaRows(createArena({ bytesMax: 200 * page }), stride);
    rows.push();
    return rows.capacity;
  })();
  for (const total of [0, 1, inBlock - 1, inBlock, inBlock + 1, 3 * inBlock]) {
    const rows = createArenaRows(createArena({ bytesMax: 200 * page }), stride);
    const bytes = [...rows.added(total)].map(({ length }) => length);
    assert.deepEqual([rows.count, bytes.reduce((sum, one) => sum + one, 0)], [total, total * stride]);
    assert.equal(bytes.length, Math.ceil(total / inBlock));
  }
});

test('rows keep their bytes as more come, wherever their blocks lie, and each has a result of its own', () => {
  for (const stride of [16, 48, 1_040, 65_552, 262_160]) {
    const arena = createArena({ bytesMax: 200 * page });
    const rows = createArenaRows(arena, stride);
    const count = stride > 60_000 ? 20 : 200;
    for (let row = 0; row < count; row += 1) {
      rows.push();
      arena.views.u8.fill(row, rows.address(row), rows.address(row) + stride);
      arena.views.u32[rows.resultAddress(row) / 4] = row;
    }
    const seen: number[] = [];
    rows.blocks((address, results, inBlock) => {
      for (let i = 0; i < inBlock; i += 1) {
        const bytes = arena.views.u8.subarray(address + i * stride, address + (i + 1) * stride);
        assert.ok(bytes.every((byte) => byte === bytes[0]));
        assert.equal(arena.views.u32[results / 4 + i], bytes[0]);
        seen.push(bytes[0]!);
      }
    });
    assert.deepEqual(
      seen,
      Array.from({ length: count }, (_, row) => row),
    );
    while (rows.count > 0) rows.pop();
    assert.ok(rows.bytes <= 17 * page, 'empty blocks are given back but one');
    rows.close();
    assert.equal(arena.bytesUsed, 0);
  }
});
