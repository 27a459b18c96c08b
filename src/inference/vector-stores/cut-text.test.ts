import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cutText } from './cut-text.ts';

const chunking = { sizeTokens: 100, overlapTokens: 50 };

function cpuMsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

test('a text without any space or line is cut in time that grows with its length', () => {
  const cut = (chars: number) => cpuMsOf(() => void cutText('中'.repeat(chars), chunking));
  cut(10_000);
  // Searching the whole text for each piece takes 200 times as long for a text that is 16 times as long.
  const [short, long] = [cut(10_000), cut(160_000)];
  assert.ok(long < 60 * Math.max(short, 2), `${short} ms and ${long} ms`);
});

test('pieces end at the best place, begin with a word, and give the text again', () => {
  const text = `${'One sentence here. '.repeat(60)}\n\n${'word '.repeat(200)}${'x'.repeat(900)}😀 end`;
  const pieces = cutText(text, chunking);
  assert.equal(pieces.map(({ text, repeats }) => text.slice(repeats)).join(''), text);
  assert.ok(pieces.every(({ text }) => text.length <= 400));
  assert.match(pieces[0]!.text, /^One .*here\. $/s);
  assert.match(pieces[1]!.text, /^(?:One|sentence|here)/);
});
