import { createHash } from 'node:crypto';
import type { PageStore } from '../../tools/page-store.ts';
import type { Corpus } from '../../tools/search/corpus.ts';
import { type PageDialect, pageReads } from '../web/page-reads.ts';
import { pageBounds, pageCharsMax, pageRowOf, pageShape, searchedCharsMax, variantsMax } from '../web/page-rows.ts';
import { isBeginning, searchedText } from '../web/page-words.ts';
import { type Database, unavailable } from './database.ts';
import { tablesIn } from './stores.ts';

/** Pages in PostgreSQL, for all replicas. */
export function createPostgresPageStore(
  { rest }: Pick<Database, 'rest'>,
  bounds = pageBounds,
): Omit<PageStore, 'close'> & Corpus {
  return {
    ...pageReads(tablesIn({ rest }), dialect),
    async keep(page) {
      const row = pageRowOf(page);
      if (row.chars > pageCharsMax) return 0;
      const { tenant, url, variant, title, text } = row;
      const words = [title, text.slice(0, searchedCharsMax)].map(searchedText);
      const id = idOf(tenant, url);
      return unavailable(
        rest.transaction('write', async (run) => {
          const charsOf = async (sql: string, values: readonly unknown[]) =>
            (await run<{ chars: number }>(sql, values)).rows[0]?.chars ?? 0;
          // Two variants that are kept at one moment would both be found otherwise.
          await run('SELECT pg_advisory_xact_lock($1, hashtext($2))', [urlLock, id]);
          const before = await charsOf(ofUrl, [id]);
          await run(put, [id, ...pageShape.cells(row), ...words]);
          await run(wordless, [id, variant]);
          await run(dropSurplus, [id, variantsMax]);
          const grown = (await charsOf(ofUrl, [id])) - before;
          const [{ pages, chars: all } = { pages: 0, chars: 0 }] = (
            await run<{ pages: number; chars: number }>(held, [tenant])
          ).rows;
          if (pages <= bounds.pagesMax && all <= bounds.charsMax) return grown;
          return grown - (await charsOf(makeRoom, [tenant, bounds.pagesMax, bounds.charsMax]));
        }),
      );
    },
    async prune(beforeMs) {
      const { changes } = await unavailable(rest.run('DELETE FROM culvert.page WHERE fetched_ms < $1', [beforeMs]));
      return changes;
    },
  };
}

/** First half of an advisory lock: variants of one URL are kept one after another. */
const urlLock = 0x63_76_70;

/** Hash of tenant and URL: a URL may be longer than an index can hold. */
function idOf(tenant: string, url: string): string {
  return createHash('sha256')
    .update(JSON.stringify([tenant, url]))
    .digest('hex');
}

/** From $2 on; the variant is $4. */
const columns = pageShape.columns.split(', ');
const put = `
  INSERT INTO culvert.page (id, ${pageShape.columns}, variant_hash, words)
  VALUES ($1, ${columns.map((_, at) => `$${at + 2}`).join(', ')}, sha256(convert_to($4, 'UTF8')),
    setweight(to_tsvector('english', $15), 'A') || to_tsvector('english', $16))
  ON CONFLICT (id, variant_hash) DO UPDATE SET
    ${[...columns, 'words'].map((name) => `${name} = excluded.${name}`).join(', ')}`;
const ofUrl = 'SELECT coalesce(sum(chars), 0)::bigint AS chars FROM culvert.page WHERE id = $1';
/** Searches find the one that was kept last. */
const wordless = 'UPDATE culvert.page SET words = NULL WHERE id = $1 AND variant <> $2 AND words IS NOT NULL';
const dropSurplus = `
  DELETE FROM culvert.page WHERE id = $1 AND variant_hash IN (
    SELECT variant_hash FROM culvert.page WHERE id = $1 ORDER BY words IS NULL, fetched_ms DESC, variant_hash OFFSET $2)`;
const held = `
  SELECT count(*) AS pages, coalesce(sum(chars), 0)::bigint AS chars FROM culvert.page WHERE tenant = $1`;
const makeRoom = `
  WITH removed AS (DELETE FROM culvert.page WHERE (id, variant_hash) IN (
    SELECT id, variant_hash FROM (
      SELECT id, variant_hash, row_number() OVER newest AS nth, sum(chars) OVER newest AS chars
      FROM culvert.page WHERE tenant = $1
      WINDOW newest AS (ORDER BY fetched_ms DESC, words IS NULL, id, variant_hash)
    ) AS page WHERE nth > $2 OR chars > $3
  ) RETURNING chars) SELECT coalesce(sum(chars), 0)::bigint AS chars FROM removed`;
const dialect: PageDialect = {
  url: { column: 'id', valueOf: idOf },
  match: `
    SELECT url, title, left(text, ${searchedCharsMax}) AS text, fetched_ms, ts_rank_cd(words, query, 1)::float8 AS score
    FROM culvert.page, to_tsquery('english', $2) AS query
    WHERE tenant = $1 AND words @@ query ORDER BY score DESC, id LIMIT $3 OFFSET $4`,
  queryOf(_tenant, words, which) {
    const terms = words.map((word) => (isBeginning(word) ? `${word}:*` : word));
    return terms.join(which === 'all' ? ' & ' : ' | ');
  },
};
