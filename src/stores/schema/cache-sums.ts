import { cacheSums } from '../../books/ledger/cache-sums.ts';
import type { Ddl } from './ddl.ts';

/** Sums of caches by hour (ledger/cache-sums.ts), for the page of caches. */
export const cacheSumDdl: Ddl = `
  CREATE TABLE @cache_sum (
    hour WHOLE NOT NULL,
    account TEXT NOT NULL,
    alias TEXT NOT NULL,
    ${cacheSums.map(({ name }) => `${name} WHOLE NOT NULL`).join(', ')},
    PRIMARY KEY (hour, account, alias)
  ) KEYED;`;
