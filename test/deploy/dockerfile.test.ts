import assert from 'node:assert/strict';
import { test } from 'node:test';
import { programsMissing, root, runProgram } from './tools.ts';

test('hadolint has nothing to say of the Dockerfile', { skip: programsMissing('hadolint') }, () => {
  const { code, said } = runProgram('hadolint', ['deploy/Dockerfile'], { cwd: root });
  assert.equal(code, 0, said);
});
