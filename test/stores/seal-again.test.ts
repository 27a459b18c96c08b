import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sealedAs } from '../../src/inference/batches/stored-files.ts';
import { partContext } from '../../src/inference/families/responses/sealed-rows.ts';
import { sealed } from '../../src/inference/sealed/sealed-columns.ts';
import { createSealer } from '../../src/kernel/seal.ts';
import { createSealedStep } from '../../src/stores/seal-again.ts';
import type { ClosableTables, Sql } from '../../src/stores/sql-tables.ts';
import { sqliteSealedTables } from '../../src/stores/sqlite/stores.ts';
import { drivers } from './drivers.ts';

const [now, before] = ['n'.repeat(44), 'b'.repeat(44)] as const;
const tenant = 'dev/test';
const count = 600;
const withEvents = [0, 299, 599];
const idOf = (at: number) => `resp_${String(at).padStart(4, '0')}`;

for (const driver of drivers) {
  test(`${driver.name}: a pass goes over many rows without a value some at a time, and seals the others`, {
    skip: driver.skip,
  }, async (t) => {
    const under = await driver.create();
    t.after(() => under.remove());
    const store = await under.responses('boot');
    const sealer = createSealer([before], 'responses');
    const part = (at: number, column: 'input' | 'answer' | 'events') =>
      sealer.seal(Buffer.from(`"${column} ${at}"`), partContext(tenant, idOf(at), column));
    const put = (at: number) => {
      const runs = withEvents.includes(at);
      const [id, input, answer] = [idOf(at), part(at, 'input'), part(at, 'answer')];
      const times = { createdMs: 1, expiresMs: 1e14 };
      const row = { ...{ tenant, id, previous: null, conversation: null, input, answer }, ...times };
      return store.put({ ...row, status: runs ? 'in_progress' : 'completed', bootId: runs ? 'boot' : null }, []);
    };
    for (let at = 0; at < count; at++) await put(at);
    for (const at of withEvents) {
      const end = { events: part(at, 'events') };
      const ended = { tenant, id: idOf(at), status: 'completed', answer: part(at, 'answer'), conversation: null };
      assert.ok(await store.change({ ...ended, end, expiresMs: 1e14 }, []));
    }
    const sqliteTables = sqliteSealedTables(under.place, () => {});
    const tables = driver.name === 'sqlite' ? (await sqliteTables('responses.db'))! : await under.tables();
    t.after(() => tables.close());
    const statements: string[] = [];
    const watched: ClosableTables = {
      ...tables,
      rows(sql: Sql, values) {
        statements.push(String(sql));
        return tables.rows(sql, values);
      },
      async close() {},
    };
    const columns = sealed.columns.filter(({ table }) => table === 'response');
    const step = createSealedStep({
      sealed: { columns, contents: { ...sealed.contents, contextOf: sealedAs } },
      sealedTables: async () => watched,
      bucket: () => null,
      secrets: { all: () => [now, before] },
    });
    let earlier = 0;
    for (let from: Parameters<typeof step>[1] | null = { part: 0, behind: null }; from !== null; ) {
      const passed = await step('seal', from);
      for (const kind of passed.kinds) earlier += kind.earlier;
      from = passed.next;
    }
    assert.equal(earlier, 2 * count + withEvents.length);
    const current = createSealer([now], 'responses');
    for (const at of withEvents) {
      const events = (await store.find(tenant, idOf(at), 2))?.events;
      assert.equal(String(current.open(events!, partContext(tenant, idOf(at), 'events'))), `"events ${at}"`);
    }
    const turns = statements.filter((sql) => sql.includes('WHERE events IS NOT NULL'));
    assert.ok(turns.length >= Math.floor(count / 256), `${turns.length} turns over ${count} rows`);
    assert.ok(
      turns.slice(0, -1).every((sql) => sql.includes('<=')),
      'each but the last ends at a row',
    );
    await store.close();
  });
}
