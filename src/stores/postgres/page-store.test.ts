import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { patientPools, postgresMissing, startPostgres } from '../../../test/start-postgres.ts';
import type { StoredPage } from '../../tools/page-store.ts';
import { openPostgres } from './open.ts';
import { createPostgresPageStore } from './page-store.ts';

const url = 'https://a.example/';
const metadata = { title: 'Otters', url } as StoredPage['metadata'];
const page = { tenant: 'a', url, variant: 'all', fetchedMs: 1, validators: { etag: null, lastModified: null } };
const kept: StoredPage = { ...page, markdown: '', text: 'an otter', html: '', links: [], metadata };

test('a variant that is kept while another one is waits for it, so that its URL is found once', {
  skip: postgresMissing,
}, async (t) => {
  const database = await openPostgres((await startPostgres(t)).newDatabase(), patientPools);
  t.after(database.close);
  const { rest } = database;
  const pages = createPostgresPageStore(database);
  await pages.keep(kept);
  let done = false;
  let second: Promise<unknown> = Promise.resolve();
  // Another replica, which has kept its variant and not yet committed.
  await rest.transaction('write', async (run) => {
    await run(`SELECT pg_advisory_xact_lock(${0x63_76_70}, hashtext(id)) FROM culvert.page`);
    await run(`
      INSERT INTO culvert.page (id, tenant, url, variant, fetched_ms, chars, title, markdown, text, html, links,
        metadata, words, variant_hash)
      SELECT id, tenant, url, 'main', 1, chars, title, markdown, text, html, links, metadata, words, 'main'::bytea
      FROM culvert.page`);
    await run(`UPDATE culvert.page SET words = NULL WHERE variant = 'all'`);
    second = pages.keep({ ...kept, variant: 'all mobile' }).finally(() => {
      done = true;
    });
    for (let waiting = false; !waiting && !done; await pause(5)) {
      const { rows } = await run(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`);
      waiting = rows.length > 0;
    }
  });
  await second;
  const found = await pages.search('a', 'otter', 5, 0);
  assert.equal(found.length, 1);
});
