import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { adminKey, otherKey, startGateway, testKey } from '../start-gateway.ts';

/* A key of the configuration that leaked: what its callers see. */

const gateway = await startGateway({ after } as TestContext, {
  keys: [
    { key: testKey, account: 'dev', name: 'leaked' },
    { key: otherKey, account: 'dev', name: 'other' },
  ],
});

const path = `/admin/v1/keys/${encodeURIComponent('sk-cv-declared:dev/leaked')}`;

async function asAdmin(act: 'revoke' | 'restore'): Promise<string> {
  const headers = { authorization: `Bearer ${adminKey}` };
  const response = await gateway.fetch(`${path}/${act}`, { json: {}, headers });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return (JSON.parse(text) as { status: string }).status;
}

async function statusOf(key: string): Promise<number> {
  const response = await gateway.fetch('/v1/models', { headers: { authorization: `Bearer ${key}` } });
  await response.arrayBuffer();
  return response.status;
}

test('a blocked key of the file opens nothing, on connections that it has too, until the block is lifted', async () => {
  assert.deepEqual([await statusOf(testKey), await statusOf(otherKey)], [200, 200]);
  assert.equal(await asAdmin('revoke'), 'revoked');
  assert.deepEqual([await statusOf(testKey), await statusOf(otherKey)], [401, 200]);
  assert.equal(await asAdmin('restore'), 'active');
  assert.deepEqual([await statusOf(testKey), await statusOf(otherKey)], [200, 200]);
});
