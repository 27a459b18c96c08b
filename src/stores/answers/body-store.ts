import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BodyFilter, BodyRow, BodyStore } from '../../books/metering/body-store.ts';
import { rowShape } from '../row-shape.ts';
import type { ClosableTables, SqlTables, SqlWords } from '../sql-tables.ts';

const {
  columns,
  cells,
  read: bodyOf,
} = rowShape<BodyRow>()({
  text: ['requestId', 'account', 'keyId', 'path'],
  'text?': ['model'],
  number: ['atMs', 'status'],
  bytes: ['sealed'],
});

/** Rows that one turn of the loop goes through: a filter may match none of a million. */
const sliceRows = 5_000;
/** The same where those that match are removed. */
const removedAtOnce = 250;
/** Rows removed in one transaction of a sweep, of up to a megabyte each. */
const sweptAtOnce = 50;

/** Kept bodies over either database. Ids of requests are in the order of time. */
export function createBodyStore(tables: ClosableTables): BodyStore {
  const { prefix, rows, write, close, run, first } = tables;
  const body = `${prefix}kept_body`;
  const signature = `${prefix}kept_body_signature`;

  return {
    async put(entry, ofWords) {
      const bytes = entry.sealed.length + (ofWords?.length ?? 0);
      const sql = `INSERT INTO ${body} (${columns}, bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        ON CONFLICT (request_id) DO NOTHING`;
      const row = { sql, values: [...cells(entry), bytes], needed: true };
      const beside = `INSERT INTO ${signature} (request_id, sealed) VALUES ($1, $2)`;
      await write(ofWords === null ? [row] : [row, { sql: beside, values: [entry.requestId, ofWords] }]);
    },
    async find(requestId) {
      return first(`SELECT ${columns} FROM ${body} WHERE request_id = $1`, [requestId], bodyOf);
    },
    async list({ before, limit, ...which }) {
      const found: BodyRow[] = [];
      for await (const slice of slices(tables, before, sliceRows)) {
        const values: unknown[] = [limit - found.length];
        const sql = `SELECT ${columns} FROM ${body} WHERE ${conditionOf(tables, which, slice, values)}
          ORDER BY request_id DESC LIMIT $1`;
        found.push(...(await rows(sql, values)).map(bodyOf));
        if (found.length >= limit) break;
      }
      return found;
    },
    async signatures({ before, limit, ...which }) {
      const found: Awaited<ReturnType<BodyStore['signatures']>> = [];
      for await (const slice of slices(tables, before, sliceRows)) {
        const values: unknown[] = [limit - found.length];
        const sql = `SELECT body.request_id AS id, ${signature}.sealed AS bits
          FROM (SELECT request_id FROM ${body} WHERE ${conditionOf(tables, which, slice, values)}
            ORDER BY request_id DESC LIMIT $1) AS body
          LEFT JOIN ${signature} ON ${signature}.request_id = body.request_id ORDER BY body.request_id DESC`;
        for (const { id, bits } of await rows(sql, values))
          found.push({ requestId: String(id), sealed: bits as Uint8Array | null });
        if (found.length >= limit) break;
      }
      return found;
    },
    async remove(which) {
      let removed = 0;
      for await (const slice of slices(tables, null, removedAtOnce)) {
        const values: unknown[] = [];
        const sql = `DELETE FROM ${body} WHERE ${conditionOf(tables, which, slice, values)}`;
        removed += await run(sql, values);
      }
      return removed;
    },
    async sweep(beforeMs, bytesMax) {
      const removeAll = async (condition: string, value: unknown) => {
        const sql = `DELETE FROM ${body} WHERE request_id IN (
          SELECT request_id FROM ${body} WHERE ${condition} ORDER BY request_id LIMIT ${sweptAtOnce})`;
        for (let removed = 0; ; await nextTurn()) {
          const some = await run(sql, [value]);
          removed += some;
          if (some < sweptAtOnce) return removed;
        }
      };
      const old = await removeAll('at_ms < $1', Math.floor(beforeMs));
      const surplus = await newestBeyond(tables, bytesMax);
      return surplus === null ? old : old + (await removeAll('request_id <= $1', surplus));
    },
    close,
  };
}

/** Rows whose ids are from `first` on and below `end`. */
interface Slice {
  first: string;
  end: string;
}

/** All rows below `before`, the newest first, a turn of the loop for each slice of `limit` rows. */
async function* slices(
  { prefix, rows }: Pick<SqlTables, 'prefix' | 'rows'>,
  before: string | null,
  limit: number,
): AsyncGenerator<Slice & { bytes: number }> {
  const sql = `SELECT min(request_id) AS first, sum(bytes) AS bytes FROM (
    SELECT request_id, bytes FROM ${prefix}kept_body WHERE request_id < $1 ORDER BY request_id DESC LIMIT $2) AS slice`;
  for (let end = before ?? behindAllIds; ; await nextTurn()) {
    const [slice] = await rows(sql, [end, limit]);
    if (slice?.first == null) return;
    const first = String(slice.first);
    yield { first, end, bytes: Number(slice.bytes) };
    end = first;
  }
}

const behindAllIds = 'req_~';

/** The newest row that, with all newer ones, is more than `bytesMax`; null: all fit. */
async function newestBeyond(tables: SqlTables, bytesMax: number): Promise<string | null> {
  let left = bytesMax;
  for await (const { first, end, bytes } of slices(tables, null, sliceRows)) {
    if (bytes <= left) {
      left -= bytes;
      continue;
    }
    const sql = `SELECT request_id, bytes FROM ${tables.prefix}kept_body WHERE request_id >= $1 AND request_id < $2
      ORDER BY request_id DESC`;
    const row = (await tables.rows(sql, [first, end])).find((one) => {
      left -= Number(one.bytes);
      return left < 0;
    });
    if (row !== undefined) return String(row.request_id);
  }
  return null;
}

/** Condition that a row of the slice meets the filter. Adds its values. */
function conditionOf(
  { oneOf }: Pick<SqlWords, 'oneOf'>,
  { accounts, keyId, model, fromMs, toMs }: BodyFilter,
  { first, end }: Slice,
  values: unknown[],
): string {
  const place = (value: unknown) => `$${values.push(value)}`;
  const conditions = [
    `request_id >= ${place(first)}`,
    `request_id < ${place(end)}`,
    ...(accounts === null ? [] : [oneOf('account', place(accounts))]),
    ...(keyId === undefined ? [] : [`key_id = ${place(keyId)}`]),
    ...(model === undefined ? [] : [`model = ${place(model)}`]),
    ...(fromMs === undefined ? [] : [`at_ms >= ${place(Math.ceil(fromMs))}`]),
    ...(toMs === undefined ? [] : [`at_ms < ${place(Math.ceil(toMs))}`]),
  ];
  return conditions.join(' AND ');
}
