import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalOf } from '../../../test/vector-call.ts';
import type { JsonValue } from '../../kernel/json.ts';
import { readMultiVector, readSparseVector } from './read-vector-forms.ts';

const zeros = (count: number): number[] => new Array<number>(count).fill(0);

test('a multivector has at most 1,048,576 numbers', () => {
  const row = zeros(65_536);
  const { rows, numbers } = readMultiVector(new Array<JsonValue>(16).fill(row), 'vector', row.length);
  assert.deepEqual([rows, numbers.length], [16, 1_048_576]);
  const refusal = refusalOf(() => readMultiVector(new Array<JsonValue>(17).fill(row), 'vector', row.length));
  assert.equal(refusal, '400 vector: a multivector has at most 1048576 numbers, this one has 1114112');
});

test('a multivector is one vector or several of the same size', () => {
  assert.deepEqual(readMultiVector([1, 2], 'v', 2), { rows: 1, numbers: Float32Array.of(1, 2) });
  assert.deepEqual(
    readMultiVector(
      [
        [1, 2],
        [3, 4],
      ],
      'v',
      2,
    ),
    { rows: 2, numbers: Float32Array.of(1, 2, 3, 4) },
  );
  for (const [value, refusal] of [
    [[], '400 v: a multivector needs at least one vector'],
    [{}, '400 v: expected an array of vectors of 2 numbers, got an object'],
    [[1, 2, 3], '400 v: expected 2 numbers, got 3'],
    [[[1, 2], [3]], '400 v[1]: expected 2 numbers, got 1'],
    [[[1, 2], 3], '400 v[1]: expected an array of 2 numbers, got a number'],
    [
      [
        [1, 2],
        [3, '4'],
      ],
      '400 v[1][1]: expected a number, got a string',
    ],
    [[[1, 3.5e38]], '400 v[0][1]: expected a number within ±3.4e38 (32-bit floats), got 3.5e+38'],
  ] as const)
    assert.equal(
      refusalOf(() => readMultiVector(value as never, 'v', 2)),
      refusal,
    );
});

test('a sparse vector has at most 65,536 numbers at different places, in any order', () => {
  const places = Array.from({ length: 65_536 }, (_, at) => at);
  assert.equal(readSparseVector({ indices: places, values: zeros(65_536) }, 'v').indices.length, 65_536);
  const more = { indices: [...places, 65_536], values: zeros(65_537) };
  assert.equal(
    refusalOf(() => readSparseVector(more, 'v')),
    '400 v.indices: at most 65536 numbers, got 65537',
  );
  assert.deepEqual(readSparseVector({ indices: [2 ** 32 - 1, 0, 7], values: [1, 2, 3] }, 'v'), {
    indices: Uint32Array.of(0, 7, 2 ** 32 - 1),
    values: Float32Array.of(2, 3, 1),
  });
  assert.deepEqual(readSparseVector({ indices: [], values: [] }, 'v').indices.length, 0);
  for (const [indices, values, refusal] of [
    [[2 ** 32], [1], 'v.indices[0]: expected a whole number from 0 to 4294967295, got 4294967296'],
    [[-1], [1], 'v.indices[0]: expected a whole number from 0 to 4294967295, got -1'],
    [[0.5], [1], 'v.indices[0]: expected a whole number from 0 to 4294967295, got 0.5'],
    [[3, 1, 3], [1, 2, 3], 'v.indices: the list has the index 3 twice'],
    [[3, 3], [1, 2], 'v.indices: the list has the index 3 twice'],
    [[1], [1, 2], 'v.values: expected 1 numbers, one for each index, got 2'],
    [[1], 'x', 'v.values: expected an array, got a string'],
    ['x', [1], 'v.indices: expected an array, got a string'],
  ] as const)
    assert.equal(
      refusalOf(() => readSparseVector({ indices, values } as never, 'v')),
      `400 ${refusal}`,
    );
});
