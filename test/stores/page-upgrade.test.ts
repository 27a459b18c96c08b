import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from '../../src/stores/postgres/database.ts';
import { migrate as migratePostgres } from '../../src/stores/postgres/open.ts';
import { createPostgresPageStore } from '../../src/stores/postgres/page-store.ts';
import { migrations } from '../../src/stores/postgres/schema.ts';
import { openDatabase } from '../../src/stores/sqlite/database.ts';
import { migrate } from '../../src/stores/sqlite/migrations.ts';
import { openSqlitePageStore, pageMigrations } from '../../src/stores/sqlite/page-store.ts';
import type { PageStore } from '../../src/tools/page-store.ts';
import type { Corpus } from '../../src/tools/search/corpus.ts';
import { patientPools, postgresMissing, startPostgres } from '../start-postgres.ts';

/** Before variants stood beside each other. */
const sqliteVersionBefore = 1;
const postgresVersionBefore = 7;
const url = 'https://a.example/';

async function holdsWhatWasKept(pages: Omit<PageStore, 'close'> & Corpus): Promise<void> {
  const kept = await pages.find('acme/laptop', url, 'main');
  assert.equal(kept?.markdown, '# Otters');
  assert.deepEqual(kept.validators, { etag: null, lastModified: null });
  assert.equal((await pages.search('acme/laptop', 'otter', 5, 0)).length, 1);
  await pages.keep({ ...kept, variant: 'all' });
  await pages.keep({ ...kept, markdown: '# Badgers' });
  assert.equal((await pages.find('acme/laptop', url, 'main'))?.markdown, '# Badgers');
  assert.equal((await pages.find('acme/laptop', url, 'all'))?.markdown, '# Otters');
  assert.equal((await pages.search('acme/laptop', 'otter', 5, 0)).length, 1, 'found once');
}

const columns = `'acme/laptop', '${url}', 'main', 1, 50, 'Otters', '# Otters', 'about otters', '', '[]', '{}'`;

test('sqlite: pages that an older version kept are found, read and replaced', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-stores-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'pages.db');
  const old = openDatabase(file, 'checkpoint', 1_000);
  migrate(old, pageMigrations.slice(0, sqliteVersionBefore));
  // The owner is the first half of a hash of the tenant: whose words they are.
  const owner = 't4ad073ff2e1ee4db21bf90d36f2fcd54';
  old.exec(`INSERT INTO page VALUES (7, ${columns})`);
  old.exec(`INSERT INTO page_words (rowid, owner, title, text) VALUES (7, '${owner}', 'Otters', 'about otters')`);
  old.close();
  const pages = openSqlitePageStore(file);
  t.after(() => pages.close());
  await holdsWhatWasKept(pages);
});

test('postgres: pages that an older version kept are found, read and replaced', {
  skip: postgresMissing,
}, async (t) => {
  const server = await startPostgres(t);
  const database = await connect(server.emptyDatabase(), patientPools);
  t.after(database.close);
  const { rest, place } = database;
  await migratePostgres(rest, place, migrations.slice(0, postgresVersionBefore));
  const id = `encode(sha256(convert_to('["acme/laptop","${url}"]', 'UTF8')), 'hex')`;
  await rest.run(`INSERT INTO culvert.page VALUES (${id}, ${columns}, to_tsvector('english', 'about otters'))`);
  await migratePostgres(rest, place);
  await holdsWhatWasKept(createPostgresPageStore(database));
});
