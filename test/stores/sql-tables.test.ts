import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Conflict, change, read } from '../../src/stores/sql-tables.ts';
import { drivers } from './drivers.ts';

for (const driver of drivers) {
  const { skip } = driver;
  const title = (text: string) => `${driver.name}: ${text}`;

  test(title('a transaction reads what it wrote, and leaves nothing where it throws'), { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const { prefix, rows, transaction, close } = await store.tables();
    const put = `INSERT INTO ${prefix}plan (name, definition, updated_ms) VALUES ($1, $2, $3)`;
    const list = `SELECT name FROM ${prefix}plan ORDER BY name`;
    const names = await transaction('write', function* () {
      yield* change(put, ['one', '{}', 1]);
      const [first] = yield* read(list, []);
      yield* change(put, [`after-${first?.name}`, '{}', 2]);
      return (yield* read(list, [])).map(({ name }) => name);
    });
    assert.deepEqual(names, ['after-one', 'one']);
    const failed = transaction('write', function* () {
      yield* change(`DELETE FROM ${prefix}plan`, []);
      throw new TypeError('no');
    });
    await assert.rejects(failed, /no/);
    assert.equal((await rows(list, [])).length, 2);
    await close();
  });

  test(title('of eight transactions that lock one name each sees what the others wrote'), { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const all = await Promise.all([store.tables(), store.tables()]);
    const counted = ({ prefix, transaction, lock }: (typeof all)[number]) =>
      transaction('write', function* () {
        yield* lock(7, 'plans');
        const [found] = yield* read(`SELECT count(*) AS plans FROM ${prefix}plan`, []);
        const plans = Number(found?.plans);
        yield* change(`INSERT INTO ${prefix}plan (name, definition, updated_ms) VALUES ($1, '{}', 1)`, [
          `plan-${plans}`,
        ]);
        return plans;
      });
    const counts = await Promise.all(Array.from({ length: 8 }, (_, at) => counted(all[at % 2]!)));
    assert.deepEqual(
      counts.sort((a, b) => a - b),
      counts.map((_, at) => at),
    );
    for (const { close } of all) await close();
  });

  test(title('a taken key is a conflict `exists`, a row that is not there `absent`'), { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const { prefix, write, close } = await store.tables();
    const plan = { sql: `INSERT INTO ${prefix}plan (name, definition, updated_ms) VALUES ('a', '{}', 1)`, values: [] };
    await write([plan]);
    const kindOf = (steps: Parameters<typeof write>[0]) =>
      write(steps).catch((error: unknown) => (error instanceof Conflict ? error.kind : error));
    assert.equal(await kindOf([plan]), 'exists');
    assert.equal(await kindOf([{ sql: `DELETE FROM ${prefix}plan`, values: [] }, plan, plan]), 'exists');
    const secret = `INSERT INTO ${prefix}api_key_secret (hash, key_id) VALUES ('a', 'nowhere')`;
    assert.equal(await kindOf([{ sql: secret, values: [] }]), 'absent');
    await close();
  });

  test(title('a list is one parameter, and a needed step that changes nothing ends the others'), {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const { prefix, rows, write, oneOf, close } = await store.tables();
    const sql = `INSERT INTO ${prefix}plan (name, definition, updated_ms) VALUES ($1, '{}', 1)`;
    await write(['a', `it's "b"`, 'c'].map((name) => ({ sql, values: [name] })));
    const some = `SELECT name FROM ${prefix}plan WHERE ${oneOf('name', '$1')} ORDER BY name`;
    assert.deepEqual(
      (await rows(some, [['c', `it's "b"`, 'z']])).map(({ name }) => name),
      ['c', `it's "b"`],
    );
    const gone = { sql: `DELETE FROM ${prefix}plan WHERE name = 'z'`, values: [], needed: true };
    assert.deepEqual(await write([gone, { sql, values: ['d'] }]), [0]);
    assert.equal((await rows(some, [['d']])).length, 0);
    await close();
  });
}
