import type {
  RowPage,
  StoreBatchRow,
  StoreCounts,
  StoreFileRow,
  StoreFileStatus,
  StoreRow,
  VectorStoreRows,
} from '../../books/metering/vector-store-rows.ts';
import { leasedRows } from '../leased-rows.ts';
import { rowShape } from '../row-shape.ts';
import { type ClosableTables, change, read, type SqlTables } from '../sql-tables.ts';

/** For `lock`: stores of one tenant are made, and get files, one after another. */
const tenantLock = 0x63_76_73;
/** Files that one tenant may have leased at the same time, so that others find a place. */
const leasedOfTenantMax = 6;

/** Vector stores, their files and batches over either database. */
export function createVectorStoreRows(tables: ClosableTables): VectorStoreRows {
  return {
    ...storesIn(tables),
    ...filesIn(tables),
    ...placesIn(tables),
    ...batchesIn(tables),
    ...workIn(tables),
    close: tables.close,
  };
}

const {
  columns: storeColumns,
  cells: storeCells,
  read: storeOf,
} = rowShape<StoreRow>()({
  text: ['id', 'tenant', 'account', 'keyId'],
  number: ['createdMs', 'activeMs'],
  'number?': ['expiresMs'],
  bytes: ['facts'],
});

function storesIn({ prefix, rows, write, transaction, lock, run, first }: SqlTables) {
  const store = `${prefix}vector_store`;
  const file = `${prefix}vector_store_file`;
  const batch = `${prefix}vector_store_batch`;
  const place = `${prefix}vector_store_place`;
  return {
    async createStore(row, storesMax) {
      const sql = `INSERT INTO ${store} (${storeColumns}) SELECT $1, $2, $3, $4, $5, $6, $7, $8
        WHERE (SELECT count(*) FROM ${store} WHERE tenant = $2) < $9`;
      return transaction('write', function* () {
        yield* lock(tenantLock, row.tenant);
        return (yield* change(sql, [...storeCells(row), storesMax])) === 1 ? 'created' : 'full';
      });
    },
    async findStore(tenant, id) {
      return first(`SELECT ${storeColumns} FROM ${store} WHERE id = $1 AND tenant = $2`, [id, tenant], storeOf);
    },
    async listStores(tenant, page) {
      const found = await pageOf(rows, `SELECT ${storeColumns} FROM ${store} WHERE tenant = $1`, [tenant], page);
      return found.map(storeOf);
    },
    async changeStore({ tenant, id, facts, expiresMs }) {
      const sql = `UPDATE ${store} SET facts = $3, expires_ms = $4 WHERE id = $1 AND tenant = $2`;
      await run(sql, [id, tenant, facts, expiresMs]);
    },
    async touchStore({ tenant, id, activeMs, expiresMs }) {
      const sql = `UPDATE ${store} SET active_ms = $3, expires_ms = $4 WHERE id = $1 AND tenant = $2`;
      await run(sql, [id, tenant, activeMs, expiresMs]);
    },
    async removeStore(tenant, id) {
      const sql = `DELETE FROM ${store} WHERE id = $1 AND tenant = $2`;
      const [removed] = await write([
        { sql, values: [id, tenant], needed: true },
        ...[file, batch, place].map((table) => ({ sql: `DELETE FROM ${table} WHERE store = $1`, values: [id] })),
      ]);
      return removed === 1;
    },
    async expiredStores(nowMs, limit) {
      const sql = `SELECT ${storeColumns} FROM ${store} WHERE expires_ms <= $1 AND emptied = 0 LIMIT $2`;
      return (await rows(sql, [nowMs, limit])).map(storeOf);
    },
    async emptyStore(id) {
      await write([
        { sql: `DELETE FROM ${file} WHERE store = $1`, values: [id] },
        { sql: `UPDATE ${store} SET emptied = 1 WHERE id = $1`, values: [id] },
      ]);
    },
  } satisfies Partial<VectorStoreRows>;
}

const { columns: fileColumns, read: fileOf } = rowShape<StoreFileRow>()({
  text: ['id', 'store', 'tenant', 'keyId', 'file', 'status'],
  'text?': ['batch'],
  number: ['createdMs', 'bytes'],
  bytes: ['facts'],
});

function filesIn({ prefix, rows, transaction, oneOf, lock, run, first }: SqlTables) {
  const file = `${prefix}vector_store_file`;
  const batch = `${prefix}vector_store_batch`;
  return {
    async attach(files, inBatch, { filesMax, waitingMax }) {
      const [first] = files;
      if (first === undefined) return 'attached';
      return transaction('write', function* () {
        yield* lock(tenantLock, first.tenant);
        const names = files.map((one) => one.file);
        const again = `DELETE FROM ${file} WHERE store = $1 AND ${oneOf('file', '$2')}`;
        const countOthers = `SELECT count(*) AS files FROM ${file} WHERE store = $1 AND NOT (${oneOf('file', '$2')})`;
        const open = `SELECT count(*) AS files FROM ${file} WHERE tenant = $1 AND status = 'in_progress'`;
        const [{ files: inStore } = { files: 0 }] = yield* read(countOthers, [first.store, names]);
        if (Number(inStore) + files.length > filesMax) return 'store-full';
        const [{ files: waiting } = { files: 0 }] = yield* read(open, [first.tenant]);
        if (Number(waiting) + files.length > waitingMax) return 'too-many-waiting';
        const there = `SELECT file, bytes FROM ${file} WHERE store = $1 AND ${oneOf('file', '$2')}`;
        const earlier = yield* read(there, [first.store, names]);
        // Passages of an earlier attachment stay until this one is read.
        const bytesOf = new Map(earlier.map((row) => [row.file, row.bytes]));
        yield* change(again, [first.store, names]);
        if (inBatch !== null) {
          const { id, store, createdMs } = inBatch;
          yield* change(`INSERT INTO ${batch} (id, store, created_ms) VALUES ($1, $2, $3)`, [id, store, createdMs]);
        }
        const put = `INSERT INTO ${file} (id, store, tenant, key_id, file, batch, created_ms, facts, bytes)
          VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;
        for (const { id, store, tenant, keyId, file: name, batch: of, createdMs, facts } of files)
          yield* change(put, [id, store, tenant, keyId, name, of, createdMs, facts, bytesOf.get(name) ?? 0]);
        return 'attached';
      });
    },
    async findFile(store, name) {
      return first(`SELECT ${fileColumns} FROM ${file} WHERE store = $1 AND file = $2`, [store, name], fileOf);
    },
    async listFiles({ store, batch: of, status }, page) {
      const values: unknown[] = [store];
      const inBatch = of === null ? '' : ` AND batch = $${values.push(of)}`;
      const as = status === null ? '' : ` AND status = $${values.push(status)}`;
      const sql = `SELECT ${fileColumns} FROM ${file} WHERE store = $1${inBatch}${as}`;
      return (await pageOf(rows, sql, values, page)).map(fileOf);
    },
    async changeFile({ id, facts }, seen) {
      return (await run(`UPDATE ${file} SET facts = $2 WHERE id = $1 AND facts = $3`, [id, facts, seen])) === 1;
    },
    async finishFile({ id, worker }, { status, bytes, facts, seen }) {
      const sql = `UPDATE ${file} SET status = $3, bytes = $4, facts = $5, worker = NULL
        WHERE id = $1 AND worker = $2 AND status = 'in_progress' AND facts = $6`;
      return (await run(sql, [id, worker, status, bytes, facts, seen])) === 1;
    },
    async counts(kind, ids) {
      const sql = `SELECT ${kind} AS owner, status, count(*) AS files, sum(bytes) AS bytes FROM ${file}
        WHERE ${oneOf(kind, '$1')} GROUP BY ${kind}, status`;
      const found = ids.length === 0 ? [] : await rows(sql, [ids]);
      const counts = new Map<string, StoreCounts>(ids.map((id) => [id, { ...none }]));
      for (const { owner, status, files, bytes } of found) {
        const of = counts.get(String(owner));
        if (of === undefined) continue;
        of[status as StoreFileStatus] = Number(files);
        of.bytes += Number(bytes);
      }
      return counts;
    },
  } satisfies Partial<VectorStoreRows>;
}

/** Removals of files, and the places that lists go on from. */
function placesIn({ prefix, rows, write, run }: SqlTables) {
  const file = `${prefix}vector_store_file`;
  const place = `${prefix}vector_store_place`;
  return {
    async removeFile({ id, store, file: name }, nowMs) {
      const left = `INSERT INTO ${place} (store, file, id, removed_ms) VALUES ($1, $2, $3, $4)
        ON CONFLICT (store, file) DO UPDATE SET id = excluded.id, removed_ms = excluded.removed_ms`;
      await write([
        { sql: `DELETE FROM ${file} WHERE id = $1`, values: [id], needed: true },
        { sql: left, values: [store, name, id, nowMs] },
      ]);
    },
    async findPlace(store, name) {
      for (const table of [file, place]) {
        const [row] = await rows(`SELECT id FROM ${table} WHERE store = $1 AND file = $2`, [store, name]);
        if (row !== undefined) return String(row.id);
      }
      return null;
    },
    async forgetPlaces(beforeMs) {
      await run(`DELETE FROM ${place} WHERE removed_ms < $1`, [beforeMs]);
    },
  } satisfies Partial<VectorStoreRows>;
}

const none: StoreCounts = { in_progress: 0, completed: 0, failed: 0, cancelled: 0, bytes: 0 };

const { columns: batchColumns, read: batchOf } = rowShape<StoreBatchRow>()({
  text: ['id', 'store'],
  number: ['createdMs'],
  'number?': ['cancelledMs'],
});

function batchesIn({ prefix, write, first }: SqlTables) {
  const file = `${prefix}vector_store_file`;
  const batch = `${prefix}vector_store_batch`;
  return {
    async findBatch(store, id): Promise<StoreBatchRow | null> {
      const sql = `SELECT ${batchColumns} FROM ${batch} WHERE id = $1 AND store = $2`;
      return first(sql, [id, store], batchOf);
    },
    async cancelBatch(id, nowMs) {
      const files = `UPDATE ${file} SET status = 'cancelled', worker = NULL WHERE batch = $1 AND status = 'in_progress'`;
      const sql = `UPDATE ${batch} SET cancelled_ms = coalesce(cancelled_ms, $2) WHERE id = $1`;
      await write([
        { sql: files, values: [id] },
        { sql, values: [id, nowMs] },
      ]);
    },
  } satisfies Partial<VectorStoreRows>;
}

/** The work at files, under leases. */
function workIn(tables: SqlTables) {
  const file = `${tables.prefix}vector_store_file`;
  const open = `status = 'in_progress'`;
  const { free, isSomeFree, renew, release } = leasedRows(tables, file, open);
  return {
    renew,
    release,
    async lease(worker, nowMs, untilMs, limit) {
      if (!(await isSomeFree(nowMs))) return [];
      // Round the tenants: a file's turn is its place among those of its tenant, behind those that are leased. The walk
      // reads a few files of each tenant, however many wait. The outer condition is looked at again where another
      // process leased a file meanwhile.
      const following = (where: string) => `SELECT id FROM ${file} WHERE ${free} ${where} ORDER BY tenant, id LIMIT 1`;
      const behind = `AND (tenant, id) > (walk.tenant, CASE WHEN nth < $5 THEN walk.id ELSE '~' END)`;
      const sql = `UPDATE ${file} SET worker = $2, lease_until_ms = $3 WHERE ${free} AND id IN (
        WITH RECURSIVE walk (tenant, id, nth) AS (
          SELECT tenant, id, 1 FROM ${file} WHERE id = (${following('')})
          UNION ALL
          SELECT ahead.tenant, ahead.id, CASE WHEN ahead.tenant = walk.tenant THEN nth + 1 ELSE 1 END
          FROM walk JOIN ${file} AS ahead ON ahead.id = (${following(behind)})
        ), leased (tenant, files) AS (
          SELECT tenant, count(*) FROM ${file} WHERE ${open} AND lease_until_ms > $1 GROUP BY tenant
        )
        SELECT id FROM (
          SELECT walk.id, nth + coalesce(files, 0) AS turn FROM walk LEFT JOIN leased ON leased.tenant = walk.tenant
        ) AS queued WHERE turn <= ${leasedOfTenantMax} ORDER BY turn, id LIMIT $4)
        RETURNING ${fileColumns}`;
      const eachMax = Math.min(limit, leasedOfTenantMax);
      return (await tables.rows(sql, [nowMs, worker, untilMs, limit, eachMax])).map(fileOf);
    },
  } satisfies Partial<VectorStoreRows>;
}

/** A page of rows by their ids. `sql` ends within its WHERE. Rows before an id are read backwards. */
async function pageOf(
  rows: SqlTables['rows'],
  sql: string,
  values: readonly unknown[],
  { from, order, limit }: RowPage,
): Promise<Record<string, unknown>[]> {
  const isBefore = from?.side === 'before';
  const direction = (order === 'asc') === isBefore ? 'DESC' : 'ASC';
  const all = [...values];
  const beyond = from === null ? '' : ` AND id ${direction === 'ASC' ? '>' : '<'} $${all.push(from.id)}`;
  const found = await rows(`${sql}${beyond} ORDER BY id ${direction} LIMIT $${all.push(limit)}`, all);
  return isBefore ? found.toReversed() : found;
}
