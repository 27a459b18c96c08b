import type { BodyFilter, BodyRow, BodyStore } from '../../books/metering/body-store.ts';
import type { ClosableTables, Row, SqlWords } from '../sql-tables.ts';

/** Rows looked at and removed in one statement of a sweep. */
const sweptAtOnce = 500;

/** Kept bodies over either database. Ids of requests are in the order of time. */
export function createBodyStore(tables: ClosableTables): BodyStore {
  const { prefix, rows, write, oneOf, close } = tables;
  const body = `${prefix}kept_body`;
  const signature = `${prefix}kept_body_signature`;
  const columns = 'request_id, at_ms, account, key_id, model, path, status, sealed';

  return {
    async put({ requestId, atMs, account, keyId, model, path, status, sealed }, ofWords) {
      const bytes = sealed.length + (ofWords?.length ?? 0);
      const sql = `INSERT INTO ${body} (${columns}, bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        ON CONFLICT (request_id) DO NOTHING`;
      const row = { sql, values: [requestId, atMs, account, keyId, model, path, status, sealed, bytes], needed: true };
      const beside = `INSERT INTO ${signature} (request_id, sealed) VALUES ($1, $2)`;
      await write(ofWords === null ? [row] : [row, { sql: beside, values: [requestId, ofWords] }]);
    },
    async find(requestId) {
      const [row] = await rows(`SELECT ${columns} FROM ${body} WHERE request_id = $1`, [requestId]);
      return row === undefined ? null : bodyOf(row);
    },
    async list({ before, limit, ...which }) {
      const values: unknown[] = [limit];
      const behind = before === null ? '' : `AND request_id < $${values.push(before)}`;
      const sql = `SELECT ${columns} FROM ${body} WHERE ${conditionOf(tables, which, values)} ${behind}
        ORDER BY request_id DESC LIMIT $1`;
      return (await rows(sql, values)).map(bodyOf);
    },
    async signatures({ before, limit, ...which }) {
      const values: unknown[] = [limit];
      const behind = before === null ? '' : `AND ${body}.request_id < $${values.push(before)}`;
      const sql = `SELECT ${body}.request_id AS id, ${signature}.sealed AS bits
        FROM ${body} LEFT JOIN ${signature} ON ${signature}.request_id = ${body}.request_id
        WHERE ${conditionOf(tables, which, values)} ${behind} ORDER BY ${body}.request_id DESC LIMIT $1`;
      return (await rows(sql, values)).map(({ id, bits }) => ({
        requestId: String(id),
        sealed: bits as Uint8Array | null,
      }));
    },
    async remove(which) {
      const values: unknown[] = [];
      const [changes = 0] = await write([
        { sql: `DELETE FROM ${body} WHERE ${conditionOf(tables, which, values)}`, values },
      ]);
      return changes;
    },
    async sweep(beforeMs, bytesMax) {
      let removed = 0;
      const [old = 0] = await write([{ sql: `DELETE FROM ${body} WHERE at_ms < $1`, values: [Math.floor(beforeMs)] }]);
      removed += old;
      for (;;) {
        const ids = await surplus(tables, body, bytesMax);
        if (ids.length === 0) return removed;
        await write([{ sql: `DELETE FROM ${body} WHERE ${oneOf('request_id', '$1')}`, values: [ids] }]);
        removed += ids.length;
      }
    },
    close,
  };
}

/** Ids of the oldest rows beyond `bytesMax`. */
async function surplus({ rows }: ClosableTables, body: string, bytesMax: number): Promise<string[]> {
  const [sum] = await rows(`SELECT coalesce(sum(bytes), 0) AS bytes FROM ${body}`, []);
  let over = Number(sum?.bytes ?? 0) - bytesMax;
  if (over <= 0) return [];
  const oldest = await rows(`SELECT request_id, bytes FROM ${body} ORDER BY request_id LIMIT ${sweptAtOnce}`, []);
  const ids: string[] = [];
  for (const row of oldest) {
    if (over <= 0) break;
    ids.push(String(row.request_id));
    over -= Number(row.bytes);
  }
  return ids;
}

/** Condition that a row meets the filter, whose values it adds. */
function conditionOf(
  { oneOf }: Pick<SqlWords, 'oneOf'>,
  { accounts, keyId, model, fromMs, toMs }: BodyFilter,
  values: unknown[],
): string {
  const place = (value: unknown) => `$${values.push(value)}`;
  const conditions = [
    ...(accounts === null ? [] : [oneOf('account', place(accounts))]),
    ...(keyId === undefined ? [] : [`key_id = ${place(keyId)}`]),
    ...(model === undefined ? [] : [`model = ${place(model)}`]),
    ...(fromMs === undefined ? [] : [`at_ms >= ${place(Math.ceil(fromMs))}`]),
    ...(toMs === undefined ? [] : [`at_ms < ${place(Math.ceil(toMs))}`]),
  ];
  return conditions.length === 0 ? 'TRUE' : conditions.join(' AND ');
}

function bodyOf(row: Row): BodyRow {
  return {
    requestId: String(row.request_id),
    atMs: Number(row.at_ms),
    account: String(row.account),
    keyId: String(row.key_id),
    model: row.model === null ? null : String(row.model),
    path: String(row.path),
    status: Number(row.status),
    sealed: row.sealed as Uint8Array,
  };
}
