import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endUserOf } from './request-fields.ts';

const userOf = (id: string | null) => endUserOf({ model: 'm', messages: [], metadata: { user_id: id } });
const device = 'd'.repeat(64);

test('the end user is who is named, without what no log should hold', () => {
  assert.equal(userOf('user-1'), 'user-1');
  assert.equal(userOf('a\u0000b\nc'), 'abc');
  assert.equal(userOf('x'.repeat(300))?.length, 256);
  assert.equal(userOf(''), null);
  assert.equal(userOf(null), null);
  assert.equal(endUserOf({ model: 'm', messages: [] }), null);
});

test('of what Claude Code writes it is the account, else the device; a session is nobody', () => {
  const ids = (account: string) => JSON.stringify({ device_id: device, account_uuid: account, session_id: 's' });
  assert.equal(userOf(ids('a-1')), 'a-1');
  assert.equal(userOf(ids('')), device);
  assert.equal(userOf(`user_${device}_account_a-1_session_s`), 'a-1');
  assert.equal(userOf(`user_${device}_account__session_s`), device);
  assert.equal(userOf('{no json'), '{no json');
});
