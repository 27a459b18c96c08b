import type { BodyFilter, BodyRow, BodyStore } from '../../books/metering/body-store.ts';
import type { ClosableTables, Row } from '../sql-tables.ts';

/** Rows looked at and removed in one statement of a sweep. */
const sweptAtOnce = 500;

/** Kept bodies over either database. Ids of requests are in the order of time. */
export function createBodyStore({ prefix, rows, write, oneOf, close }: ClosableTables): BodyStore {
  const body = `${prefix}kept_body`;
  const columns = 'request_id, at_ms, account, key_id, model, path, status, sealed';

  function conditionOf({ accounts, keyId, model, fromMs, toMs }: BodyFilter, values: unknown[]): string {
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

  /** Ids of the oldest rows beyond `bytesMax`. */
  async function surplus(bytesMax: number): Promise<string[]> {
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

  return {
    async put({ requestId, atMs, account, keyId, model, path, status, sealed }) {
      const sql = `INSERT INTO ${body} (${columns}, bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        ON CONFLICT (request_id) DO NOTHING`;
      await write([{ sql, values: [requestId, atMs, account, keyId, model, path, status, sealed, sealed.length] }]);
    },
    async find(requestId) {
      const [row] = await rows(`SELECT ${columns} FROM ${body} WHERE request_id = $1`, [requestId]);
      return row === undefined ? null : bodyOf(row);
    },
    async list({ before, limit, ...which }) {
      const values: unknown[] = [limit];
      const behind = before === null ? '' : `AND request_id < $${values.push(before)}`;
      const sql = `SELECT ${columns} FROM ${body} WHERE ${conditionOf(which, values)} ${behind}
        ORDER BY request_id DESC LIMIT $1`;
      return (await rows(sql, values)).map(bodyOf);
    },
    async remove(which) {
      const values: unknown[] = [];
      const [changes = 0] = await write([{ sql: `DELETE FROM ${body} WHERE ${conditionOf(which, values)}`, values }]);
      return changes;
    },
    async sweep(beforeMs, bytesMax) {
      let removed = 0;
      const [old = 0] = await write([{ sql: `DELETE FROM ${body} WHERE at_ms < $1`, values: [Math.floor(beforeMs)] }]);
      removed += old;
      for (;;) {
        const ids = await surplus(bytesMax);
        if (ids.length === 0) return removed;
        await write([{ sql: `DELETE FROM ${body} WHERE ${oneOf('request_id', '$1')}`, values: [ids] }]);
        removed += ids.length;
      }
    },
    close,
  };
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
