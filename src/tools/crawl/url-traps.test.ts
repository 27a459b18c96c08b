import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTrap, shapeOf } from './crawl-scope.ts';

const at = (path: string) => new URL(path, 'https://site.test');

test('paths that repeat themselves, are too deep, too long, or asked with too much are traps', () => {
  for (const path of [
    '/a/a/a',
    '/x/a/b/a/b/a/b',
    `/${'a/b/c/d/e/f/g/h/i/j/'.repeat(3)}`,
    `/${'x'.repeat(2_000)}`,
    `/?${Array.from({ length: 13 }, (_, i) => `p${i}=1`).join('&')}`,
  ]) {
    assert.equal(isTrap(at(path)), true, path.slice(0, 40));
  }
  for (const path of ['/', '/a/a', '/docs/v1/docs/v2', '/a/b/a/c/a/d', '/2024/05/05/title', '/?a=1&b=2']) {
    assert.equal(isTrap(at(path)), false, path);
  }
});

test('pages of a calendar have one shape, articles by date each their own, plain pages none', () => {
  const shape = (path: string) => shapeOf(at(path));
  assert.equal(shape('/calendar/2031/04'), shape('/calendar/2032/12'));
  assert.equal(shape('/events?year=2031&month=4'), shape('/events?year=1999&month=11'));
  assert.equal(shape('/events?date=2031-04-01'), shape('/events?date=2032-11-21'));
  assert.notEqual(shape('/2024/05/12/first-post'), shape('/2024/05/13/second-post'));
  assert.equal(shape('/list?a=1&b=2&c=3'), shape('/list?a=4&b=5&c=6'));
  assert.notEqual(shape('/list?a=1&b=2&c=3'), shape('/other?a=1&b=2&c=3'));
  for (const path of [
    '/',
    '/product/1234',
    '/product/201210',
    '/v/2024/99',
    '/docs/v2/intro',
    '/list?page=7',
    '/a?x=1&z=2',
  ]) {
    assert.equal(shape(path), null, path);
  }
});

test('F25: no URL takes long to be looked at', () => {
  const long = at(`/${'20'.repeat(900)}?${'2010'.repeat(400)}&${'=1&y'.repeat(20)}`);
  for (let times = 0; times < 100; times++) {
    isTrap(long);
    shapeOf(long);
  }
});
