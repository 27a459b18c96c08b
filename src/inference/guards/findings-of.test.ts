import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertWithin } from '../../../test/machine-load.ts';
import { personalData } from '../../guards/checks/personal-data.ts';
import { findingsOfParts } from './findings-of.ts';

const check = await personalData(['email'], []);

async function placesIn(texts: readonly string[]) {
  const parts = texts.map((text, at) => ({
    path: ['messages', 0, 'content', at, 'text'],
    kind: 'user' as const,
    text,
  }));
  const found = await findingsOfParts(check, parts);
  return found.map((ofPart) => ofPart.map(({ start, end }) => [start, end]));
}

test('a value that goes over parts is found in each part that has some of it', async () => {
  const texts = ['jo@exam', '', 'ple', '.org, ann@exam', 'ple.org and bob@example.org'];
  assert.deepEqual(await placesIn(texts), [
    [[0, 7]],
    [],
    [[0, 3]],
    [
      [0, 4],
      [6, 14],
    ],
    [
      [0, 7],
      [12, 27],
    ],
  ]);
});

test('a message of many parts with values takes no more than each of them', async () => {
  const startedMs = performance.now();
  assert.equal((await placesIn(Array<string>(100_000).fill('jo@example.org '))).flat().length, 100_000);
  assertWithin(performance.now() - startedMs, 3_000);
});
