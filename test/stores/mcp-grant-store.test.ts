import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { McpGrantRow } from '../../src/books/auth/mcp-grant-store.ts';
import { drivers } from './drivers.ts';

const nowMs = Date.now();

function row(server: string, over: Partial<McpGrantRow> = {}): McpGrantRow {
  return { server, sealed: 'c2VhbGVk', ended: null, version: 1, leaseMs: 0, loginMs: nowMs, loginBy: 'admin', ...over };
}

for (const driver of drivers) {
  const { skip } = driver;

  test(`${driver.name}: a grant is seen by every process, and only who knows its version replaces it`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const [grants, other] = [await store.mcpGrants(), await store.mcpGrants()];
    assert.equal(await grants.put(row('b'), 1), false, 'there is nothing to replace');
    assert.equal(await grants.put(row('b'), null), true);
    assert.equal(await grants.put(row('a', { ended: 'over' }), null), true);
    assert.deepEqual(await other.list(), [row('a', { ended: 'over' }), row('b')]);
    assert.equal(await other.put(row('b', { version: 2, sealed: 'b3RoZXI=' }), 1), true);
    assert.equal(await grants.put(row('b', { version: 3 }), 1), false, 'another was first');
    assert.deepEqual(await grants.find('b'), row('b', { version: 2, sealed: 'b3RoZXI=' }));
    assert.equal(await grants.put(row('b', { version: 9 }), null), true, 'a new login');
    assert.deepEqual([await other.remove('b'), await grants.remove('b'), await grants.find('b')], [true, false, null]);
    await grants.close();
    await other.close();
  });

  test(`${driver.name}: of many who want to renew one does, and another when its time is over`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const [grants, other] = [await store.mcpGrants(), await store.mcpGrants()];
    await grants.put(row('a'), null);
    const wanted = Array.from({ length: 8 }, (_, at) =>
      (at % 2 === 0 ? grants : other).lease('a', 1, nowMs, nowMs + 10),
    );
    assert.deepEqual((await Promise.all(wanted)).filter(Boolean), [true]);
    assert.equal(await other.lease('a', 1, nowMs + 9, nowMs + 20), false);
    assert.equal(await other.lease('a', 2, nowMs + 10, nowMs + 20), false, 'not its version');
    assert.equal(await other.lease('a', 1, nowMs + 10, nowMs + 20), true);
    await grants.close();
    await other.close();
  });

  test(`${driver.name}: a login that has begun is redeemed once, in its time`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const [grants, other] = [await store.mcpGrants(), await store.mcpGrants()];
    const login = { hash: 'one', sealed: 'c2VhbGVk', endsMs: nowMs + 10 };
    await grants.begin(login, nowMs);
    await grants.begin({ ...login, hash: 'late' }, nowMs);
    assert.equal(await other.redeem('nobody', nowMs), null);
    assert.equal(await other.redeem('late', nowMs + 10), null);
    const both = await Promise.all([grants.redeem('one', nowMs + 9), other.redeem('one', nowMs + 9)]);
    assert.deepEqual(
      both.filter((found) => found !== null),
      [login],
    );
    await grants.begin({ ...login, hash: 'next', endsMs: nowMs + 99 }, nowMs + 10);
    assert.equal(await grants.redeem('late', nowMs), null, 'it was dropped');
    await grants.close();
    await other.close();
  });
}
