import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addresseeOf } from '../../src/books/metering/notices/addressee.ts';
import { alertNotice } from '../../src/books/metering/notices/alert-message.ts';
import type { AlertRow } from '../../src/books/metering/notices/alert-store.ts';
import { nextAlerts } from '../../src/books/metering/notices/next-alerts.ts';
import { drivers } from './drivers.ts';

const nowMs = 1_750_000_000_000;

for (const driver of drivers) {
  test(`${driver.name}: of many processes that see an alert at one time one tells of it, and its end as well`, {
    skip: driver.skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const processes = await Promise.all([1, 2, 3, 4].map(() => store.alerts()));
    const notices = await store.notices();
    const look = (atMs: number, names: readonly string[], overMs: number | null = null) =>
      Promise.all(
        processes.map((alerts) =>
          alerts.change((rows) => {
            const seen = names.map((name) => ({ name, severity: 'problem' as const, text: 'Down.', fix: null }));
            const { write, forget, raised, resolved } = nextAlerts(rows, seen, { nowMs: atMs, overMs, quietMs: 0 });
            const isTold = raised.length + resolved.length > 0;
            return { write, forget, notices: isTold ? [alertNotice('ops', { raised, resolved }, atMs)] : [] };
          }),
        ),
      );
    const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
    assert.equal(sum(await look(nowMs, [])), 0);
    assert.equal(sum(await look(nowMs, ['one', 'other'])), 1);
    assert.equal(sum(await look(nowMs + 1_000, ['one', 'other'])), 0);
    assert.equal(sum(await look(nowMs + 9_000, ['other'], nowMs + 5_000)), 1);
    const due = await notices.due(nowMs + 9_000, nowMs + 9_001, 10);
    const toOps = { kind: 'alerts', receiver: 'ops' };
    assert.deepEqual(due.map(addresseeOf), [toOps, toOps]);
    const said = due.map(({ body }) => JSON.parse(body).data);
    assert.deepEqual(
      said.map(({ raised, resolved }) => [raised, resolved].map((list: AlertRow[]) => list.map(({ name }) => name))),
      [
        [['one', 'other'], []],
        [[], ['one']],
      ],
    );
    assert.equal(said[1].resolved[0].since, new Date(nowMs).toISOString());
    for (const one of [...processes, notices]) await one.close();
  });
}
