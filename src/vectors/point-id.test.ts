import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FailureError } from '../kernel/failure.ts';
import { comparePointIds, readPointId } from './point-id.ts';

const uuid = '550e8400-e29b-41d4-a716-446655440000';

test('a UUID is taken in every spelling of Qdrant, and is one id', () => {
  const spellings = [uuid, uuid.toUpperCase(), uuid.replaceAll('-', ''), `urn:uuid:${uuid}`, `{${uuid}}`];
  for (const spelling of spellings) assert.equal(readPointId(spelling, 'id'), uuid);
});

test('an unsigned integer is taken up to 2^53-1', () => {
  for (const id of [0, 1, Number.MAX_SAFE_INTEGER]) assert.equal(readPointId(id, 'id'), id);
  assert.ok(Object.is(readPointId(-0, 'id'), 0));
});

test('anything else is refused with its place and what was given', () => {
  const others = [-1, 1.5, 2 ** 53, Number.NaN, '', '42', 'doc-1', `{${uuid}`, `${uuid}0`, `{${uuid.slice(1)}}`];
  for (const value of [...others, null, undefined, true, [], {}, 'x'.repeat(100_000)]) {
    assert.throws(
      () => readPointId(value, 'points[3].id'),
      (error: unknown) => {
        assert.ok(error instanceof FailureError && error.failure.kind === 'invalid-request');
        assert.equal(error.failure.param, 'points[3].id');
        assert.match(error.failure.message, /^points\[3\]\.id: expected an unsigned integer up to 2\^53-1 or a UUID/);
        assert.ok(error.failure.message.length < 200);
        return true;
      },
    );
  }
});

test('integers stand before UUIDs, and are ordered as numbers', () => {
  const other = '00000000-0000-4000-8000-000000000000';
  assert.deepEqual([uuid, 10, other, 9].sort(comparePointIds), [9, 10, other, uuid]);
});
