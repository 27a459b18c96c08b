import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteByPath, mergePayload } from './payload-change.ts';
import { readKeyPath } from './read-key-path.ts';

function merged(payload: string, changes: string, key: string | null = null): unknown {
  const target = JSON.parse(payload);
  mergePayload(target, JSON.parse(changes), key === null ? [] : readKeyPath(key, 'key').steps);
  return JSON.parse(JSON.stringify(target));
}

function without(payload: string, key: string): unknown {
  const target = JSON.parse(payload);
  deleteByPath(target, readKeyPath(key, 'key').steps);
  return target;
}

test('setting a payload replaces the keys that it names and leaves the others', () => {
  assert.deepEqual(merged('{"a":{"x":1},"b":2}', '{"a":{"y":2},"c":3}'), { a: { y: 2 }, b: 2, c: 3 });
});

test('a key that is set to null is removed, as in Qdrant', () => {
  assert.deepEqual(merged('{"a":1,"b":2}', '{"a":null,"c":null}'), { b: 2 });
});

const cases: [payload: string, changes: string, key: string, after: string][] = [
  ['{"a":{"b":[{"c":1},{"c":2}]},"f":3}', '{"b":5}', 'a', '{"a":{"b":5},"f":3}'],
  ['{"a":{"b":[{"c":1},{"c":2}]}}', '{"c":5}', 'a.b[1]', '{"a":{"b":[{"c":1},{"c":5}]}}'],
  ['{"a":{"b":[{"c":1},{"c":2}]}}', '{"d":5}', 'a.b[]', '{"a":{"b":[{"c":1,"d":5},{"c":2,"d":5}]}}'],
  ['{}', '{"c":1}', 'key1.key2', '{"key1":{"key2":{"c":1}}}'],
  ['{}', '{"c":1}', 'key1.key2[3]', '{"key1":{"key2":[]}}'],
  ['{}', '{"c":1}', 'key1.key2[].key3', '{"key1":{"key2":[]}}'],
  ['{"a":10}', '{"x":1}', 'a.b.c', '{"a":{"b":{"c":{"x":1}}}}'],
  ['{"a":[1,2]}', '{"x":1}', 'a[0]', '{"a":[{"x":1},2]}'],
  ['{"a":[1,2]}', '{"x":1}', 'a[9]', '{"a":[1,2]}'],
  ['{"a":[1,2]}', '{"x":1}', 'a.b', '{"a":{"b":{"x":1}}}'],
];
for (const [payload, changes, key, after] of cases) {
  test(`setting ${changes} at ${key} of ${payload} gives ${after}`, () => {
    assert.deepEqual(merged(payload, changes, key), JSON.parse(after));
  });
}

test('what is set in several places is a value of its own in each', () => {
  const target = { a: [{}, {}] };
  mergePayload(target, { x: { y: 1 } }, readKeyPath('a[]', 'key').steps);
  mergePayload(target, { y: 2 }, readKeyPath('a[0].x', 'key').steps);
  assert.deepEqual(target, { a: [{ x: { y: 2 } }, { x: { y: 1 } }] });
});

test('deleting takes away what the path names, wherever it reaches', () => {
  const payload = '{"a":1,"b":{"c":123,"i":[{"j":1,"k":2},{"j":3,"k":4}]}}';
  assert.deepEqual(without(payload, 'a'), {
    b: {
      c: 123,
      i: [
        { j: 1, k: 2 },
        { j: 3, k: 4 },
      ],
    },
  });
  assert.deepEqual(without(payload, 'b.c'), {
    a: 1,
    b: {
      i: [
        { j: 1, k: 2 },
        { j: 3, k: 4 },
      ],
    },
  });
  assert.deepEqual(without(payload, 'b.i[].k'), { a: 1, b: { c: 123, i: [{ j: 1 }, { j: 3 }] } });
  assert.deepEqual(without(payload, 'b.i[0].j'), { a: 1, b: { c: 123, i: [{ k: 2 }, { j: 3, k: 4 }] } });
  assert.deepEqual(without(payload, 'b.i[]'), { a: 1, b: { c: 123, i: [] } });
});

test('deleting nothing that is there, or one element of an array, changes nothing', () => {
  const payload = '{"a":[1,2],"b":{"c":1}}';
  for (const key of ['x', 'b.x', 'a.b', 'b[]', 'a[0]', 'a[9].x', 'b.c.d', 'constructor'])
    assert.deepEqual(without(payload, key), JSON.parse(payload), key);
});

test('a key named __proto__ changes no prototype', () => {
  assert.equal(JSON.stringify(merged('{}', '{"__proto__":{"x":1}}')), '{"__proto__":{"x":1}}');
  assert.equal(JSON.stringify(merged('{}', '{"x":1}', '__proto__')), '{"__proto__":{"x":1}}');
  assert.equal(({} as Record<string, unknown>).x, undefined);
});
