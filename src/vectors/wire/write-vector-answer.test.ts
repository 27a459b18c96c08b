import assert from 'node:assert/strict';
import test from 'node:test';
import { refusalOf } from '../../../test/vector-call.ts';
import { writeAnswer } from './write-vector-answer.ts';

const tooLarge = (bytes: number) =>
  `400 The answer would be larger than ${bytes} bytes: lower 'limit', or leave out with_vector or with_payload.`;

test('an answer that is too large says how to ask for less', () => {
  const result = [{ id: 1, payload: { text: 'a'.repeat(100) } }];
  assert.equal(writeAnswer(result, 1, 200).length < 200, true);
  assert.equal(
    refusalOf(() => writeAnswer(result, 1, 100)),
    tooLarge(100),
  );
});

test('so does one that is longer than a string can be', () => {
  const endless = {
    toJSON() {
      throw new RangeError('Invalid string length');
    },
  };
  assert.equal(
    refusalOf(() => writeAnswer(endless, 1)),
    tooLarge(268_435_456),
  );
});

test('an answer owns its memory, so that it can be given to another thread', () => {
  const { byteOffset, byteLength, buffer } = writeAnswer(true, 1);
  assert.deepEqual([byteOffset, byteLength], [0, buffer.byteLength]);
});
