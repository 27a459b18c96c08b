import type { PictureSizes } from '../../books/metering/storage/picture-sizes.ts';
import type { ClosableTables } from '../sql-tables.ts';

/** Sizes of pictures over either database. */
export function createPictureSizes({ prefix, write, close }: ClosableTables): PictureSizes {
  const picture = `${prefix}picture`;
  return {
    async add({ account, bytes, nowMs, untilMs }) {
      const insert = `INSERT INTO ${picture} (account, bytes, until_ms) VALUES ($1, $2, $3)`;
      await write([
        { sql: `DELETE FROM ${picture} WHERE until_ms <= $1`, values: [nowMs] },
        { sql: insert, values: [account, bytes, untilMs] },
      ]);
    },
    close,
  };
}
