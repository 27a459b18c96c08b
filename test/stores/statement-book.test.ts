import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drivers } from './drivers.ts';

for (const driver of drivers) {
  test(`${driver.name}: a closed statement is kept once, over restarts`, { skip: driver.skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const statement = { month: '2026-10', timeZone: 'UTC', closedMs: 5, closedBy: 'Anna', body: '{"data":["ü"]}' };
    const { body: _, ...closed } = statement;
    const elsewhere = { ...closed, timeZone: 'Europe/Berlin' };
    assert.equal(await ledger.statements.stored('2026-10', 'UTC'), null);
    assert.equal(await ledger.statements.keep(statement), true);
    assert.equal(await ledger.statements.keep({ ...statement, closedBy: 'Ben', body: '{}' }), false);
    assert.equal(await ledger.statements.keep({ ...elsewhere, body: '{}' }), true);
    await ledger.shutdown();
    const next = await store.ledger('boot-2');
    assert.deepEqual(await next.statements.stored('2026-10', 'UTC'), statement);
    assert.deepEqual(await next.statements.closed(), [elsewhere, closed]);
    await next.shutdown();
  });
}
