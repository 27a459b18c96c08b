import assert from 'node:assert/strict';
import { mkdtempSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { LineOutput } from './line-output.ts';

function outputFile(): { file: string; fd: number } {
  const file = join(mkdtempSync(join(tmpdir(), 'culvert-lines-')), 'log');
  return { file, fd: openSync(file, 'a') };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('lines are written in order, in batches, and the rest when asked', async () => {
  const { file, fd } = outputFile();
  const output = new LineOutput({ fd, batchBytes: 100, waitingBytesMax: 1_000_000 });
  const lines = Array.from({ length: 500 }, (_, i) => `line ${i} – ü\n`);
  for (const [i, line] of lines.entries()) {
    output.write(line);
    if (i % 50 === 0) await turn();
  }
  while (readFileSync(file, 'utf8').length < lines.join('').length) {
    output.flush();
    await turn();
  }
  assert.equal(readFileSync(file, 'utf8'), lines.join(''));
});

test('what waits at the end is written at once', () => {
  const { file, fd } = outputFile();
  const output = new LineOutput({ fd, batchBytes: 1_000, waitingBytesMax: 1_000 });
  output.write('last\n');
  output.flushSync();
  assert.equal(readFileSync(file, 'utf8'), 'last\n');
});

test('F60 a sink that is gone costs lines and nothing else', async () => {
  // Refuses every write as a closed one does, whose number the next test's file might get.
  const fd = openSync('/dev/null', 'r');
  const output = new LineOutput({ fd, batchBytes: 10, waitingBytesMax: 100 });
  for (let i = 0; i < 1_000; i += 1) output.write('a line of the log\n');
  await turn();
  output.write('another\n');
  output.flushSync();
});

test('beyond the bound lines are dropped whole', () => {
  const { file, fd } = outputFile();
  const output = new LineOutput({ fd, batchBytes: 1_000, waitingBytesMax: 12 });
  for (const line of ['one\n', 'two\n', 'three\n', 'four\n']) output.write(line);
  output.flushSync();
  assert.equal(readFileSync(file, 'utf8'), 'one\ntwo\n');
});
