import { createHash } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import type { PageStore } from '../../tools/page-store.ts';
import type { Corpus } from '../../tools/search/corpus.ts';
import {
  columnsOf,
  foundPageOf,
  keptPageOf,
  type MatchColumns,
  type PageColumns,
  pageBounds,
  pageCharsMax,
  searchedCharsMax,
  wordsOf,
} from '../page-rows.ts';
import type { Database, Run } from './database.ts';
import { unavailable } from './unavailable.ts';

/** Pages in PostgreSQL, for all replicas. */
export function createPostgresPageStore(
  { rest }: Pick<Database, 'rest'>,
  clock: Clock,
  bounds = pageBounds,
): Omit<PageStore, 'close'> & Corpus {
  return {
    async keep(page) {
      const columns = columnsOf(page);
      if (columns.chars > pageCharsMax) return;
      const { tenant, url, variant, fetched_ms, chars, title, markdown, text, html, links, metadata } = columns;
      const values = [tenant, url, variant, fetched_ms, chars, title, markdown, text, html, links, metadata];
      const id = createHash('sha256')
        .update(JSON.stringify([tenant, url]))
        .digest('hex');
      await unavailable(
        rest.transaction('write', async (run) => {
          await run(put, [id, ...values, text.slice(0, searchedCharsMax)]);
          const { rows } = await run<{ pages: number; chars: number }>(held, [tenant]);
          const { pages, chars: all } = rows[0]!;
          if (pages > bounds.pagesMax || all > bounds.charsMax) {
            await run(makeRoom, [tenant, bounds.pagesMax, bounds.charsMax]);
          }
        }),
      );
    },
    async find(tenant, url, variant, maxAgeMs) {
      const id = createHash('sha256')
        .update(JSON.stringify([tenant, url]))
        .digest('hex');
      const { rows } = await unavailable(rest.run<PageColumns>(byId, [id, tenant, variant, clock.wallMs() - maxAgeMs]));
      return rows[0] === undefined ? null : keptPageOf(rows[0]);
    },
    async search(tenant, query, limit, offset) {
      const words = wordsOf(query);
      if (words.length === 0) return [];
      const rows = await unavailable(matching(rest.run, tenant, words, limit, offset));
      return rows.map((row) => foundPageOf(row, words));
    },
    async holdsPages(tenant) {
      const { rows } = await unavailable(rest.run('SELECT FROM culvert.page WHERE tenant = $1 LIMIT 1', [tenant]));
      return rows.length > 0;
    },
    async prune(beforeMs) {
      const { changes } = await unavailable(rest.run('DELETE FROM culvert.page WHERE fetched_ms < $1', [beforeMs]));
      return changes;
    },
  };
}

/** Pages with some of the words are better than none, but not beside those that have all. */
async function matching(run: Run, tenant: string, words: readonly string[], limit: number, offset: number) {
  const asked = (joined: string, first: number, count: number) =>
    run<MatchColumns>(match, [tenant, joined, count, first]).then(({ rows }) => rows);
  const all = await asked(words.join(' & '), offset, limit);
  const none = all.length === 0 && (offset === 0 || (await asked(words.join(' & '), 0, 1)).length === 0);
  return none ? asked(words.join(' | '), offset, limit) : all;
}

const put = `
  INSERT INTO culvert.page
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
    setweight(to_tsvector('english', $7), 'A') || to_tsvector('english', $13))
  ON CONFLICT (id) DO UPDATE SET
    variant = excluded.variant, fetched_ms = excluded.fetched_ms, chars = excluded.chars, title = excluded.title,
    markdown = excluded.markdown, text = excluded.text, html = excluded.html, links = excluded.links,
    metadata = excluded.metadata, words = excluded.words`;
const held = `
  SELECT count(*) AS pages, coalesce(sum(chars), 0)::bigint AS chars FROM culvert.page WHERE tenant = $1`;
const makeRoom = `
  DELETE FROM culvert.page WHERE id IN (
    SELECT id FROM (
      SELECT id, row_number() OVER newest AS nth, sum(chars) OVER newest AS chars FROM culvert.page WHERE tenant = $1
      WINDOW newest AS (ORDER BY fetched_ms DESC, id)
    ) AS page WHERE nth > $2 OR chars > $3
  )`;
const byId = `
  SELECT tenant, url, variant, fetched_ms, markdown, text, html, links, metadata FROM culvert.page
  WHERE id = $1 AND tenant = $2 AND variant = $3 AND fetched_ms >= $4`;
const match = `
  SELECT url, title, left(text, ${searchedCharsMax}) AS text, fetched_ms, ts_rank_cd(words, query, 1)::float8 AS score
  FROM culvert.page, to_tsquery('english', $2) AS query
  WHERE tenant = $1 AND words @@ query ORDER BY score DESC, id LIMIT $3 OFFSET $4`;
