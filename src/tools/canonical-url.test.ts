import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { canonicalUrl, isOfDomain, samePageKey } from './canonical-url.ts';

test('the many spellings of a page have one canonical URL', () => {
  for (const [text, expected] of [
    ['HTTP://Example.ORG:80/a', 'http://example.org/a'],
    ['https://example.org./a#part', 'https://example.org/a'],
    ['https://example.org', 'https://example.org/'],
    ['https://example.org/?', 'https://example.org/'],
    ['https://user:secret@example.org/', 'https://example.org/'],
    ['https://example.org/a/../b', 'https://example.org/b'],
    ['https://example.org/?b=2&a=1', 'https://example.org/?a=1&b=2'],
    ['https://example.org/?a=2&a=1', 'https://example.org/?a=2&a=1'],
    ['https://example.org/?utm_source=x&id=7&fbclid=y', 'https://example.org/?id=7'],
    ['https://example.org/?utm_source=x', 'https://example.org/'],
    ['https://example.org/a???', 'https://example.org/a???'],
    ['https://example.org/?q=%26&&', 'https://example.org/?q=%26'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
  ] as const) {
    assert.equal(canonicalUrl(text), expected, text);
    assert.equal(canonicalUrl(expected), expected, `${expected} stays as it is`);
  }
  assert.equal(canonicalUrl('../c?x', 'https://example.org/a/b'), 'https://example.org/c?x');
});

test('what is no page of the web has no canonical URL', () => {
  for (const text of [
    '',
    'mailto:a@example.org',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'http://',
    'x',
    'http://./',
  ]) {
    assert.equal(canonicalUrl(text), null, text);
  }
  assert.equal(canonicalUrl(`https://example.org/${'a'.repeat(9_000)}`), null);
});

test('scheme, www, the last slash and the name of a folder’s page do not make another page, its query does', () => {
  const key = (text: string) => samePageKey(canonicalUrl(text)!);
  assert.equal(key('http://www.example.org/a/'), key('https://example.org/a'));
  assert.equal(key('https://example.org/?a=1'), key('https://example.org?a=1'));
  assert.notEqual(key('https://example.org/a?x=1'), key('https://example.org/a?x=2'));
  assert.notEqual(key('https://example.org/A'), key('https://example.org/a'));
  assert.equal(key('https://example.org/index.html'), key('https://example.org'));
  assert.equal(key('https://example.org/a/index.php?x=1'), key('https://example.org/a?x=1'));
  assert.notEqual(key('https://example.org/a/my-index.html'), key('https://example.org/a'));
  assert.notEqual(key('https://example.org/index.php/b'), key('https://example.org/b'));
});

test('a domain holds its own hosts and no neighbour', () => {
  assert.ok(isOfDomain('https://docs.example.org/a', 'example.org'));
  assert.ok(isOfDomain('https://example.org/a', 'example.org'));
  assert.ok(!isOfDomain('https://notexample.org/a', 'example.org'));
  assert.ok(!isOfDomain('https://example.org.evil.test/', 'example.org'));
});

test('a canonical URL is its own, whatever it was made of', () => {
  const piece = fc.oneof(fc.webUrl({ withQueryParameters: true, withFragments: true }), fc.string({ maxLength: 200 }));
  fc.assert(
    fc.property(piece, fc.string({ maxLength: 50 }), (url, tail) => {
      const canonical = canonicalUrl(url + tail);
      if (canonical === null) return;
      assert.equal(canonicalUrl(canonical), canonical);
      assert.ok(samePageKey(canonical).length > 0);
    }),
  );
});
