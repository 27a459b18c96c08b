import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cannotServe, errorMessage } from './redis-errors.ts';

const sha = 'b01e47d9aa03e0ba8af1757b580ee71756f392b2';

test('F42 a full memory is told in the same words whichever script meets it', () => {
  const error = new Error(
    `OOM command not allowed when used memory > 'maxmemory'. script: ${sha}, on @user_script:49.`,
  );
  assert.equal(errorMessage(error), "OOM command not allowed when used memory > 'maxmemory'.");
  assert.equal(errorMessage(new TypeError()), 'TypeError');
});

for (const [words, cannot] of [
  ["OOM command not allowed when used memory > 'maxmemory'.", true],
  ['MISCONF Redis is configured to save RDB snapshots, but is currently unable to persist on disk.', true],
  ['NOREPLICAS Not enough good replicas to write.', true],
  ["READONLY You can't write against a read only replica.", true],
  [`ERR Error running script (call to f_${sha}): @user_script:49: -OOM command not allowed`, true],
  ['WRONGTYPE Operation against a key holding the wrong kind of value', false],
  [`NOSCRIPT No matching script.`, false],
] as const)
  test(`F42 ${words.slice(0, 60)} ${cannot ? 'means' : 'does not mean'} that this server cannot serve`, () => {
    assert.equal(cannotServe(words), cannot);
  });
