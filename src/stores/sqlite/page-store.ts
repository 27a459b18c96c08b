import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { PageStore } from '../../tools/page-store.ts';
import type { Corpus } from '../../tools/search/corpus.ts';
import type { Migration } from '../migration.ts';
import { type PageDialect, pageReads } from '../web/page-reads.ts';
import { pageBounds, pageCharsMax, pageRowOf, pageShape, searchedCharsMax, variantsMax } from '../web/page-rows.ts';
import { isBeginning, searchedText } from '../web/page-words.ts';
import { type SqlValue, transaction } from './database.ts';
import { migrate, openMigrated } from './migrations.ts';
import { tablesIn } from './tables.ts';

/** Pages removed in one transaction, some 20 ms: readers and writers of pages wait for it. */
const prunedAtOnceMax = 50;

/**
 * Pages in `pages.db`, in the calling thread (`page-thread` has one for it). A power cut may lose the last ones, which can
 * be read again.
 */
export function openSqlitePageStore(file: string, bounds = pageBounds): PageStore & Corpus {
  const database = openMigrated(file, 'checkpoint', (opened) => migrate(opened, pageMigrations));
  database.exec('PRAGMA busy_timeout = 0');
  const ofUrl = database.prepare(
    'SELECT id, variant FROM page WHERE tenant = ? AND url = ? ORDER BY fetched_ms DESC, id DESC',
  );
  const remove = database.prepare('DELETE FROM page WHERE id = ?');
  const removeWords = database.prepare('DELETE FROM page_words WHERE rowid = ?');
  const insert = database.prepare(pageShape.insert('page').replaceAll('$', '?'));
  const insertWords = database.prepare('INSERT INTO page_words (rowid, owner, title, text) VALUES (?, ?, ?, ?)');
  const held = database.prepare('SELECT count(*) AS pages, total(chars) AS chars FROM page WHERE tenant = ?');
  const oldest = database.prepare('SELECT id, chars FROM page WHERE tenant = ? ORDER BY fetched_ms, id LIMIT ?');
  const old = database.prepare('SELECT id FROM page WHERE fetched_ms < ? LIMIT ?');

  /** By `get`: FTS5 leaves a last rowid beyond 2^53, which `run` of Node 26 refuses to give. */
  function forget(id: number): void {
    removeWords.get(id);
    remove.get(id);
  }

  const heldBy = (tenant: string) => held.get(tenant) as { pages: number; chars: number };

  /** Within a transaction. Returns the tenant's characters. */
  function makeRoom(tenant: string): number {
    for (;;) {
      const { pages, chars } = heldBy(tenant);
      if (pages <= bounds.pagesMax && chars <= bounds.charsMax) return chars;
      const surplus = Math.max(1, pages - bounds.pagesMax);
      for (const { id } of oldest.all(tenant, surplus) as { id: number }[]) forget(id);
    }
  }

  return {
    ...pageReads(tablesIn(database), dialect),
    async keep(page) {
      const row = pageRowOf(page);
      if (row.chars > pageCharsMax) return 0;
      const { tenant, url, variant, title, text } = row;
      return transaction(database, () => {
        let others = 0;
        const before = heldBy(tenant).chars;
        for (const known of ofUrl.all(tenant, url) as { id: number; variant: string }[]) {
          if (known.variant === variant || ++others >= variantsMax) forget(known.id);
          else removeWords.get(known.id);
        }
        const { lastInsertRowid: id } = insert.run(...(pageShape.cells(row) as SqlValue[]));
        const searched = text.slice(0, searchedCharsMax);
        insertWords.get(id, ownerOf(tenant), searchedText(title), searchedText(searched));
        return makeRoom(tenant) - before;
      });
    },
    async prune(beforeMs) {
      let pruned = 0;
      for (;;) {
        const count = await transaction(database, () => {
          const rows = old.all(beforeMs, prunedAtOnceMax) as { id: number }[];
          for (const { id } of rows) forget(id);
          return rows.length;
        });
        pruned += count;
        if (count < prunedAtOnceMax) return pruned;
        // Those who read and keep pages come first.
        await turn();
      }
    },
    async close() {
      database.close();
    },
  };
}

const dialect: PageDialect = {
  url: { column: 'url', valueOf: (_tenant, url) => url },
  match: `
    SELECT p.url, p.title, substr(p.text, 1, ${searchedCharsMax}) AS text, p.fetched_ms,
      -bm25(page_words, 0, 5, 1) AS score
    FROM page_words JOIN page p ON p.id = page_words.rowid
    WHERE page_words MATCH $2 AND p.tenant = $1 ORDER BY score DESC, p.id LIMIT $3 OFFSET $4`,
  queryOf(tenant, words, which) {
    const quoted = words.map((word) => `"${word}"${isBeginning(word) ? '*' : ''}`);
    return `(owner : ${ownerOf(tenant)}) AND ({title text} : (${quoted.join(which === 'all' ? ' AND ' : ' OR ')}))`;
  },
};

/** One word that no text holds. */
function ownerOf(tenant: string): string {
  const hash = createHash('sha256').update(tenant).digest('hex');
  return `t${hash.slice(0, 32)}`;
}

const contentColumns = `chars INTEGER NOT NULL, title TEXT NOT NULL, markdown TEXT NOT NULL, text TEXT NOT NULL,
  html TEXT NOT NULL, links TEXT NOT NULL, metadata TEXT NOT NULL`;
const ageIndexes = `CREATE INDEX page_age ON page (tenant, fetched_ms, chars);
  CREATE INDEX page_fetched ON page (fetched_ms);`;

/** `pages.db`: pages that were read. A separate file: its writes would hold up those of accounts. */
export const pageMigrations: readonly Migration[] = [
  {
    version: 1,
    name: 'pages',
    sql: `
      CREATE TABLE page (
        id INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL,
        url TEXT NOT NULL,
        variant TEXT NOT NULL,
        fetched_ms INTEGER NOT NULL,
        ${contentColumns},
        UNIQUE (tenant, url)
      ) STRICT;
      ${ageIndexes}
      -- owner: one word a tenant, so that the words of others are not even looked at.
      CREATE VIRTUAL TABLE page_words USING fts5 (
        owner, title, text, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
      );
    `,
  },
  {
    version: 2,
    name: 'page variants',
    // A table that is unique by something else has to be made anew.
    sql: `
      CREATE TABLE page_variant (
        id INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL,
        url TEXT NOT NULL,
        variant TEXT NOT NULL,
        fetched_ms INTEGER NOT NULL,
        etag TEXT,
        last_modified TEXT,
        ${contentColumns},
        UNIQUE (tenant, url, variant)
      ) STRICT;
      INSERT INTO page_variant
        SELECT id, tenant, url, variant, fetched_ms, NULL, NULL, chars, title, markdown, text, html, links, metadata
        FROM page;
      DROP TABLE page;
      ALTER TABLE page_variant RENAME TO page;
      ${ageIndexes}
    `,
  },
];
