import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FailureError } from './failure.ts';
import { refuseWithoutRoom } from './file-store.ts';

test('a disk that takes nothing is a 503, also where only this user may not write it, and any other error stays', () => {
  const thrown = (code: string) => {
    try {
      return refuseWithoutRoom(Object.assign(new Error(code), { code }), 'No room.');
    } catch (error) {
      return error;
    }
  };
  for (const code of ['ENOSPC', 'EROFS', 'EACCES', 'EPERM']) {
    const error = thrown(code);
    assert.ok(error instanceof FailureError, code);
    assert.deepEqual(error.failure, { kind: 'overloaded', message: 'No room.' });
  }
  assert.ok(!(thrown('EISDIR') instanceof FailureError));
});
