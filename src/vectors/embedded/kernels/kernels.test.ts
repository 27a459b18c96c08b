// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { seededRandom } from '../../../kernel/random.ts';
import { kernelBytes } from './kernel-bytes.ts';
import { loadKernels } from './kernels.ts';
import { createLinearMemory, type LinearMemory } from './linear-memory.ts';
import type { Kernels } from './scalar-kernels.ts';
import { createScalarKernels } from './scalar-kernels.ts';

const rowsAt = 65_536;
const outAt = 3 * 65_536;
/** Addresses for kernels that gather, and their results next to those of the others. */
const listAt = 50_048;
const gatheredAt = outAt + 8_192;
const backwards = (count: number) => Array.from({ length: count }, (_, i) => count - 1 - i);

/** The same bytes for both, from one seed; then both do `step`. */
function sideBySide(
  seed: number,
  fill: (memory: LinearMemory) => void,
  step: (kernels: Kernels, memory: LinearMemory) => void,
) {
  return ['assembled', 'scalar'].map((kind) => {
    const memory = createLinearMemory(4, true);
    memory.grow(3);
    const random = seededRandom(seed);
    const floats = new Float32Array(memory.buffer, 0, outAt / 4);
    for (let i = 0; i < floats.length; i += 1) floats[i] = random.next() * 2 - 1;
    fill(memory);
    const loaded = loadKernels(memory);
    assert.equal(loaded.warning, null);
    step(kind === 'assembled' ? loaded.kernels : createScalarKernels(memory), memory);
    return memory.buffer;
  }) as [ArrayBuffer, ArrayBuffer];
}

function assertNear(real: Float32Array, scalar: Float32Array, size: number): void {
  for (const [i, expected] of scalar.entries()) {
    assert.ok(Math.abs(real[i]! - expected) <= 1e-6 * size, `row ${i}: ${real[i]} is not ${expected}`);
  }
}

const seed = fc.integer({ min: 1, max: 2 ** 31 });
const rowCount = fc.integer({ min: 0, max: 7 });

test('f32 kernels agree with the scalar ones for every number of components modulo 16, and every number of rows', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 70 }), rowCount, seed, (blocks, count, start) => {
      const width = blocks * 16;
      for (const name of ['dotF32', 'squaresF32', 'absoluteF32'] as const) {
        const [real, scalar] = sideBySide(
          start,
          () => {},
          (kernels) => kernels[name](0, rowsAt, width + 16, count, width, outAt),
        );
        assertNear(new Float32Array(real, outAt, 8), new Float32Array(scalar, outAt, 8), width);
      }
    }),
    { numRuns: 60, seed: 1 },
  );
});

test('codes and their products agree with the scalar ones, with queries of the greatest codes too', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), rowCount, seed, (blocks, count, start) => {
      const width = blocks * 32;
      const stride = width + 16;
      const [real, scalar] = sideBySide(
        start,
        (memory) => {
          const query = new Int16Array(memory.buffer, 40_960, width);
          const random = seededRandom(start);
          for (let i = 0; i < width; i += 1)
            query[i] = i % 3 === 0 ? 32_767 : Math.floor(random.next() * 65_535) - 32_767;
        },
        (kernels, memory) => {
          for (let row = 0; row < count; row += 1) kernels.encodeI8(row * 4_096, width, rowsAt + row * stride);
          kernels.dotI8(40_960, 1 / 32_767, rowsAt, stride, count, width, outAt);
          new Int32Array(memory.buffer, listAt, count).set(backwards(count).map((row) => rowsAt + row * stride));
          new Int32Array(memory.buffer, listAt + 64, count).set(backwards(count).map((row) => gatheredAt + row * 4));
          kernels.dotI8At(40_960, 1 / 32_767, listAt, listAt + 64, count, width);
        },
      );
      for (let row = 0; row < count; row += 1) {
        const at = rowsAt + row * stride;
        assert.deepEqual(new Int8Array(real, at, width), new Int8Array(scalar, at, width));
        assertNear(new Float32Array(real, at + width, 2), new Float32Array(scalar, at + width, 2), 1);
      }
      assertNear(new Float32Array(real, outAt, count), new Float32Array(scalar, outAt, count), width);
      for (const each of [real, scalar]) {
        assert.deepEqual(new Float32Array(each, gatheredAt, count), new Float32Array(each, outAt, count));
      }
    }),
    { numRuns: 60, seed: 2 },
  );
});

test('bits and how many differ agree with the scalar ones', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), rowCount, seed, (blocks, count, start) => {
      const width = blocks * 32;
      const bytes = Math.ceil(width / 128) * 16;
      const [real, scalar] = sideBySide(
        start,
        () => {},
        (kernels, memory) => {
          kernels.encodeI8(0, width, 32_768);
          kernels.encodeBits(32_768, width, 8_192, 40_960);
          kernels.differingBits(40_960, rowsAt, count, bytes, outAt, outAt + 4_096);
          new Int32Array(memory.buffer, listAt, count).set(backwards(count).map((row) => rowsAt + row * bytes));
          kernels.differingBitsAt(40_960, listAt, count, bytes, gatheredAt, outAt + 4_096);
        },
      );
      for (const each of [real, scalar]) {
        const inOrder = [...new Int32Array(each, outAt, count)];
        assert.deepEqual([...new Int32Array(each, gatheredAt, count)].reverse(), inOrder);
      }
      assert.deepEqual(new Uint8Array(real, 40_960, width / 8), new Uint8Array(scalar, 40_960, width / 8));
      assert.deepEqual(new Uint8Array(real, outAt), new Uint8Array(scalar, outAt));
    }),
    { numRuns: 60, seed: 3 },
  );
});

test('the nearest are picked: all below the edge, and of those at it as many as there is room for', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 40 }),
      fc.nat(4),
      fc.nat(6),
      (all, edge, room) => {
        let left = room;
        const expected = all.flatMap((one, i) => (one < edge || (one === edge && left-- > 0) ? [100 + i] : []));
        const used = all.filter((one) => one === edge).length;
        for (const create of [(m: LinearMemory) => loadKernels(m).kernels, createScalarKernels]) {
          const memory = createLinearMemory(1, true);
          new Int32Array(memory.buffer, 1_024, all.length).set(all);
          new Int32Array(memory.buffer, 0, 1)[0] = room;
          const found = create(memory).pickNearest(1_024, all.length, 100, edge, 0);
          assert.deepEqual([...new Int32Array(memory.buffer, 1_024, found)], expected);
          assert.equal(new Int32Array(memory.buffer, 0, 1)[0], room - used);
        }
      },
    ),
    { numRuns: 200, seed: 4 },
  );
});

test('a vector of zeros, and one too small for any step, become zeros that say what they miss', () => {
  const [real, scalar] = sideBySide(
    1,
    (memory) => {
      new Float32Array(memory.buffer, 0, 32).fill(0);
      new Float32Array(memory.buffer, 128, 32).fill(1e-38);
    },
    (kernels) => {
      kernels.encodeI8(0, 32, rowsAt);
      kernels.encodeI8(128, 32, rowsAt + 48);
    },
  );
  for (const buffer of [real, scalar]) {
    assert.deepEqual(new Int8Array(buffer, rowsAt, 32), new Int8Array(32));
    assert.deepEqual(new Int8Array(buffer, rowsAt + 48, 32), new Int8Array(32));
    assert.deepEqual([...new Float32Array(buffer, rowsAt + 32, 2)], [0, 0]);
  }
});

test('a machine without the instructions gets the scalar kernels and a warning', () => {
  const { kernels, warning } = loadKernels(createLinearMemory(1, true), { ...kernelBytes, f32: 'AGFzbQ==' });
  assert.match(warning!, /^Vector kernels are off, searches are slower: the machine does not run them/);
  assert.equal(typeof kernels.dotF32, 'function');
});

test('a kernel that computes wrongly is found out at load, and named', () => {
  // f32.mul of dotI8 (0x94) becomes f32.add (0x92).
  const wrong = Buffer.from(kernelBytes.i8, 'base64');
  const at = wrong.indexOf(Buffer.from([0x94]), wrong.indexOf(Buffer.from([0xfd, 0xba, 0x01])));
  wrong[at] = 0x92;
  const { warning } = loadKernels(createLinearMemory(1, true), { ...kernelBytes, i8: wrong.toString('base64') });
  assert.equal(warning, 'Vector kernels are off, searches are slower: dotI8 computes wrongly on this machine.');
});

test('the assembled bytes are those of the .wat files, each below 2 KB', async (t) => {
  const wabt = await import('wabt').catch(() => null);
  if (wabt === null) return t.skip('wabt is not installed');
  const script = '../../../../scripts/build-kernels.mjs';
  const { kernelBytesSource } = (await import(script)) as { kernelBytesSource(wabt: unknown): string };
  const source = kernelBytesSource(await wabt.default());
  assert.equal(readFileSync(new URL('kernel-bytes.ts', import.meta.url), 'utf8'), source);
  for (const part of Object.values(kernelBytes)) assert.ok(Buffer.from(part, 'base64').length < 2_048);
});
