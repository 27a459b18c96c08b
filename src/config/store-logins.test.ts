import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOtherLogin } from './store-logins.ts';

test('another password of a store is another login, another host is another store', () => {
  for (const hosts of ['h', 'h1,h2', 'h1:5432,h2:5433']) {
    assert.ok(isOtherLogin(`postgres://u:a@${hosts}/d`, `postgres://v:b@${hosts}/d`), hosts);
    assert.ok(!isOtherLogin(`postgres://u:a@${hosts}/d`, `postgres://u:a@${hosts},h3/d`), hosts);
    assert.ok(!isOtherLogin(`postgres://u:a@${hosts}/d`, `postgres://u:a@${hosts}/d`), hosts);
  }
});
