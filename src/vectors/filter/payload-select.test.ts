import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FailureError } from '../../kernel/failure.ts';
import type { Want } from '../point.ts';
import { payloadSelector } from './payload-select.ts';

const payload = () => ({ a: { b: [{ c: 1 }, { c: 2 }, { d: { e: 3 } }] }, f: 3, g: ['g0', 'g1'] });
const select = (want: Want['payload']) => payloadSelector(want)?.(payload());
const include = (...paths: string[]) => select({ include: paths });
const exclude = (...paths: string[]) => select({ exclude: paths });

test('all or nothing', () => {
  assert.equal(payloadSelector(false), null);
  assert.deepEqual(select(true), payload());
});

test('include keeps the paths with all below them, and what leads to them', () => {
  assert.deepEqual(include('f', 'g'), { f: 3, g: ['g0', 'g1'] });
  assert.deepEqual(include('a'), { a: payload().a });
  assert.deepEqual(include('a.b[].c'), { a: { b: [{ c: 1 }, { c: 2 }, {}] } });
  assert.deepEqual(include('a.b[].c', 'a.b[].d.e'), { a: payload().a });
  assert.deepEqual(include('f.x'), { f: 3 });
  assert.deepEqual(include('x'), {});
  assert.deepEqual(include(), {});
});

test('include reaches elements by [] alone, as in Qdrant', () => {
  assert.deepEqual(include('a.b.c'), { a: { b: [] } });
  assert.deepEqual(include('g[0]'), { g: [] });
  assert.deepEqual(include('g[]'), { g: ['g0', 'g1'] });
  assert.deepEqual(include('a[]'), { a: {} });
});

test('exclude drops the paths and keeps all others', () => {
  assert.deepEqual(exclude('a', 'g'), { f: 3 });
  assert.deepEqual(exclude('a.b[].c'), { a: { b: [{}, {}, { d: { e: 3 } }] }, f: 3, g: ['g0', 'g1'] });
  assert.deepEqual(exclude('a.b', 'f', 'g[]'), { a: {}, g: [] });
  assert.deepEqual(exclude('x', 'a.x', 'g[0]'), payload());
});

test('a key named __proto__ is a key like any other', () => {
  const odd = JSON.parse('{"__proto__":{"x":1},"y":2}');
  const found = payloadSelector({ include: ['__proto__'] })!(odd);
  assert.equal(JSON.stringify(found), '{"__proto__":{"x":1}}');
  assert.equal(Object.getPrototypeOf(found), Object.prototype);
});

test('a malformed path is a 400 that names it', () => {
  assert.throws(
    () => payloadSelector({ exclude: ['a', 'b..c'] }),
    (error: unknown) =>
      error instanceof FailureError &&
      error.failure.kind === 'invalid-request' &&
      error.failure.param === 'with_payload.exclude[1]',
  );
});
