import type { PageStore } from '../../tools/page-store.ts';
import type { Corpus } from '../../tools/search/corpus.ts';
import type { SqlTables } from '../sql-tables.ts';
import { foundPageOf, type MatchColumns, pageShape, storedPageOf } from './page-rows.ts';
import { wordsInQuery } from './page-words.ts';

/** Differences between the databases. */
export interface PageDialect {
  /** Column by which a URL of a tenant is found, and its value there. */
  url: { column: 'id' | 'url'; valueOf(tenant: string, url: string): string };
  /** Statement of the tenant's ($1) pages that match a query ($2), best first, with LIMIT $3 and OFFSET $4. */
  match: string;
  queryOf(tenant: string, words: readonly string[], which: 'all' | 'some'): string;
}

/** The reads of a store of pages, over either database. */
export function pageReads(
  { prefix, rows, first }: SqlTables,
  { url: place, match, queryOf }: PageDialect,
): Pick<PageStore & Corpus, 'find' | 'search' | 'holdsPages'> {
  const byUrl = `SELECT ${pageShape.columns} FROM ${prefix}page
    WHERE tenant = $1 AND ${place.column} = $2 AND variant = $3`;
  return {
    find: (tenant, url, variant) => first(byUrl, [tenant, place.valueOf(tenant, url), variant], storedPageOf),
    async search(tenant, query, limit, offset) {
      const words = wordsInQuery(query);
      if (words.length === 0) return [];
      const matching = (which: 'all' | 'some', most: number, first: number) =>
        rows(match, [tenant, queryOf(tenant, words, which), most, first]);
      // Pages with some of the words are better than none, but they do not mix with those that have all.
      const all = await matching('all', limit, offset);
      const none = all.length === 0 && (offset === 0 || (await matching('all', 1, 0)).length === 0);
      const found = none ? await matching('some', limit, offset) : all;
      return found.map((row) => foundPageOf(row as MatchColumns, words));
    },
    async holdsPages(tenant) {
      return (await rows(`SELECT 1 FROM ${prefix}page WHERE tenant = $1 LIMIT 1`, [tenant])).length > 0;
    },
  };
}
