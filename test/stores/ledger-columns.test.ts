import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventColumns, reservationColumns } from '../../src/books/ledger/columns.ts';
import { openPostgres } from '../../src/stores/postgres/open.ts';
import { openDatabase } from '../../src/stores/sqlite/database.ts';
import { ledgerMigrations } from '../../src/stores/sqlite/ledger-schema.ts';
import { migrate } from '../../src/stores/sqlite/migrations.ts';
import { patientPools, postgresMissing, startPostgres } from '../start-postgres.ts';

/*
 * Released schemas do not change, so what a database has is the sum of its migrations. Each must end at the table of
 * columns: a line there without its migration fails here, and the message is the statement that the migration lacks.
 */

const tables = { usage_event: eventColumns, reservation: reservationColumns };
type Table = keyof typeof tables;

interface Held {
  name: string;
  type: string;
  nullable: boolean;
}

const sqlTypes = {
  sqlite: { text: 'TEXT', whole: 'INTEGER', real: 'REAL' },
  postgres: { text: 'TEXT', whole: 'BIGINT', real: 'DOUBLE PRECISION' },
} as const;
const blanks = { text: "''", whole: '0', real: '0' } as const;

function missing(table: Table, held: readonly Held[], database: keyof typeof sqlTypes): string[] {
  return expected(table).flatMap(({ name, kind, nullable }) => {
    const column = held.find((one) => one.name === name);
    const type = sqlTypes[database][kind];
    const full = database === 'postgres' ? `culvert.${table}` : table;
    if (column === undefined)
      return `ALTER TABLE ${full} ADD COLUMN ${name} ${type}${nullable ? '' : ` NOT NULL DEFAULT ${blanks[kind]}`};`;
    // Some whole numbers of PostgreSQL are INTEGER.
    const fits = column.type === type || (type === 'BIGINT' && column.type === 'INTEGER');
    return fits && column.nullable === nullable
      ? []
      : `${full}.${name} is ${column.type}, nullable: ${column.nullable}`;
  });
}

function expected(table: Table) {
  return tables[table].flatMap(([name, type]) => {
    const names = type === 'route' ? ['route', 'attempts'] : [name];
    const kind = type.startsWith('real') ? 'real' : /^(whole|flag)/.test(type) ? 'whole' : 'text';
    return names.map((each) => ({ name: each, kind, nullable: type.endsWith('?') }) as const);
  });
}

function unknownTo(table: Table, held: readonly Held[]): string[] {
  const known = expected(table).map(({ name }) => name);
  return held.map(({ name }) => name).filter((name) => !known.includes(name));
}

test('the migrations of SQLite end at the table of columns', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-columns-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const database = openDatabase(join(folder, 'ledger.db'), 'os', 0);
  migrate(database, ledgerMigrations);
  for (const table of Object.keys(tables) as Table[]) {
    const held = database
      .prepare(`PRAGMA table_info(${table})`)
      .all()
      .map((row) => ({ name: String(row.name), type: String(row.type), nullable: row.notnull === 0 }));
    assert.deepEqual(missing(table, held, 'sqlite'), []);
    assert.deepEqual(unknownTo(table, held), ['key']);
  }
  database.close();
});

test('the migrations of PostgreSQL end at the table of columns', { skip: postgresMissing }, async (t) => {
  const server = await startPostgres(t);
  const database = await openPostgres(server.newDatabase(), patientPools);
  t.after(database.close);
  for (const table of Object.keys(tables) as Table[]) {
    const { rows } = await database.rest.run<{ name: string; type: string; nullable: string }>(
      `SELECT column_name AS name, upper(data_type) AS type, is_nullable AS nullable FROM information_schema.columns
       WHERE table_schema = 'culvert' AND table_name = $1`,
      [table],
    );
    const held = rows.map((row) => ({ ...row, nullable: row.nullable === 'YES' }));
    assert.deepEqual(missing(table, held, 'postgres'), []);
    assert.deepEqual(unknownTo(table, held), []);
  }
});
