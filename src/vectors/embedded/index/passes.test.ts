// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createMemoryRows, normalised, vectorMaker } from '../../../../test/memory-rows.ts';
import { until } from '../../../../test/until.ts';
import { distances } from '../../collection.ts';
import { createArena } from './arena.ts';
import { createArenaRows } from './arena-rows.ts';
import { makeVectorIndex } from './create-vector-index.ts';
import { PassPace } from './pass-pace.ts';
import { type PassCores, PassThreads } from './pass-threads.ts';
import { finish } from './resumable-steps.ts';
import { passWords } from './row-pass.ts';
import type { VectorIndex } from './vector-index.ts';

class Together extends PassPace {
  override isTogether(): boolean {
    return true;
  }
}

class CountedThreads extends PassThreads {
  override readonly pace = new Together();
  posts = 0;
  override post(...args: Parameters<PassThreads['post']>): void {
    this.posts += 1;
    super.post(...args);
  }
}

const coresOf = (cores: number): PassCores => ({ cores, used: new SharedArrayBuffer(8), arena: 0 });

for (const distance of distances) {
  test(`${distance}: searches that threads do together find what one thread finds`, async () => {
    for (const [size, count] of [
      [5, 900],
      [64, 5_100],
      [512, 6_100],
    ] as const) {
      const threads = new CountedThreads(coresOf(4), { fromBytes: 1 });
      const make = vectorMaker(size, { seed: count, clusters: 20 });
      const next = () => (distance === 'Cosine' ? normalised(make()) : make());
      const rows = createMemoryRows();
      for (let slot = 0; slot < count; slot += 1) rows.set(slot, next());
      const indexOf = (threads: PassThreads | null) =>
        finish(makeVectorIndex({ distance, size, rows }, createArena({ bytesMax: 64 * 2 ** 20, threads })))!;
      const [together, alone] = [indexOf(threads), indexOf(null)];
      const some = Uint32Array.from(rows.slots().filter((slot) => slot % 3 === 0));
      const search = (index: VectorIndex, query: Float32Array, slots: Uint32Array | null) =>
        finish(index.search(query, 10, { slots, exact: false }));
      const helps = () => {
        const before = threads.posts;
        search(together, next(), null);
        return threads.posts > before;
      };
      await until('a thread helps', helps);
      for (let at = 0; at < 60; at += 1) {
        // Others come in as they have started, and the memory grows beneath them.
        await setTimeout(1);
        const query = next();
        for (const slots of [null, some]) assert.deepEqual(search(together, query, slots), search(alone, query, slots));
        const added = next();
        rows.set(count + at, added);
        for (const index of [together, alone]) index.put(count + at, added);
      }
      for (const index of [together, alone]) index.close();
    }
  });
}

test('threads help as far as cores are left, and only with large passes', async () => {
  const used = new SharedArrayBuffer(8);
  const threads = new CountedThreads({ cores: 2, used, arena: 0 }, { fromBytes: 300 * 64 * 4 });
  const arena = createArena({ bytesMax: 2 ** 24, threads });
  const rows = createArenaRows(arena, 64 * 4);
  const pass = { kernel: 'dotF32', query: arena.alloc(64 * 4), width: 64 * 4, stride: 64 * 4 } as const;
  const helps = () => {
    const before = threads.posts;
    arena.passes.over(rows, pass);
    return threads.posts > before;
  };
  for (let row = 0; row < 299; row += 1) rows.push();
  assert.equal(helps(), false, 'rows are few');
  rows.push();
  await until('a thread helps', helps);
  const others = new Int32Array(used, 4, 1);
  others[0] = 1;
  for (let at = 0; at < 20; at += 1) {
    assert.equal(helps(), false, 'the other arena has the core');
    await setTimeout(2);
  }
  others[0] = 0;
  await until('a thread helps again', helps);
  assert.equal(new Int32Array(used)[0], 0, 'between passes no core is used');
});

test('a share that does not end is not waited for without a bound', async () => {
  class Stalled extends PassThreads {
    override readonly pace = new Together();
    override readonly onLost = (): never => {
      throw new Error('lost');
    };
    override post(): void {
      // As if it had taken the first share, and stood still.
      Atomics.add(this.words, passWords.next, 1);
    }
  }
  const arena = createArena({ bytesMax: 2 ** 24, threads: new Stalled(coresOf(2), { fromBytes: 1, shareMaxMs: 20 }) });
  const rows = createArenaRows(arena, 32);
  for (let row = 0; row < 20_000; row += 1) rows.push();
  let failure: unknown;
  await until('a search fails', () => {
    try {
      arena.passes.over(rows, { kernel: 'dotF32', query: 0, width: 32, stride: 32 });
    } catch (error) {
      failure = error;
    }
    return failure !== undefined;
  });
  assert.match(String(failure), /lost/);
});

test('the way that was quicker of late is taken, and the other one tried in between', () => {
  const pace = new PassPace();
  const pass = (ms: { alone: number; together: number }) => {
    const way = pace.isTogether('dotI8') ? 'together' : 'alone';
    pace.took('dotI8', way, { bytes: 1e7, ms: ms[way] });
    return way;
  };
  const share = (ms: Parameters<typeof pass>[0]) =>
    Array.from({ length: 160 }, () => pass(ms)).filter((way) => way === 'together').length;
  assert.equal(pass({ alone: 6, together: 3 }), 'alone', 'threads are just starting');
  assert.equal(share({ alone: 6, together: 3 }), 150);
  const onBusyCores = share({ alone: 6, together: 12 });
  assert.ok(onBusyCores < 20, `${onBusyCores} of 160`);
  const again = share({ alone: 6, together: 3 });
  assert.ok(again > 60, `${again} of 160`);
  assert.equal(pace.isTogether('differingBits'), false, 'each kernel has a pace of its own');
});
