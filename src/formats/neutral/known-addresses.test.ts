import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addAddresses, addressKey } from './known-addresses.ts';

function knows(text: string, url: string): boolean {
  const known = new Set<string>();
  addAddresses([{ deep: text }], known);
  const key = addressKey(url);
  return key !== null && known.has(key);
}

test('an address is found as people write it', () => {
  const url = 'https://docs.example.com/a_(b)?q=1';
  for (const text of [
    `Read ${url}.`,
    `(${url})`,
    `[this](${url}), please`,
    `"${url}"`,
    `<${url}>`,
    'docs.example.com/a_(b)?q=1 it is',
    `first\n${url}#part`,
  ]) {
    assert.ok(knows(text, url), text);
  }
  assert.ok(knows('What does example.com say?', 'https://example.com/'));
  assert.ok(knows('см. пример.рф/страница', 'https://пример.рф/страница'));
  assert.ok(knows('at http://127.0.0.1:8080/x', 'http://127.0.0.1:8080/x/'));
});

test('another path, query, host or port is not known, nor is one with credentials', () => {
  const text = 'Read https://example.com/a and mail me@other.example';
  for (const url of [
    'https://example.com/b',
    'https://example.com/a?secret=1',
    'https://secret.example.com/a',
    'https://example.com:444/a',
    'https://secret@example.com/a',
    'https://other.example/',
    'ftp://example.com/a',
    'no address',
  ]) {
    assert.ok(!knows(text, url), url);
  }
});

test('long texts without an address are read in little time', () => {
  const known = new Set<string>();
  for (const text of ['a'.repeat(3e6), 'a.'.repeat(1e6), 'a-'.repeat(1e6), 'https:/'.repeat(4e5)]) {
    const from = process.cpuUsage();
    addAddresses(text, known);
    const { user } = process.cpuUsage(from);
    assert.ok(user < 3e6, `${text.slice(0, 8)}… took ${user} µs`);
  }
});
