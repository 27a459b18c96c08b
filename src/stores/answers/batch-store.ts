import type {
  BatchRow,
  BatchStore,
  FileRow,
  Listed,
  NewBatch,
  ReturnedLine,
} from '../../books/metering/batch-store.ts';
import type { Lease } from '../../kernel/leased-jobs.ts';
import { leasedRows } from '../leased-rows.ts';
import { rowShape } from '../row-shape.ts';
import { type ClosableTables, change, type Row, type SqlTables, type Step } from '../sql-tables.ts';

/** Files, batches and their lines over either database. */
export function createBatchStore(tables: ClosableTables): BatchStore {
  return {
    ...filesIn(tables),
    ...batchesIn(tables),
    ...workIn(tables),
    ...linesIn(tables),
    ...awayLinesIn(tables),
    close: tables.close,
  };
}

const fileShape = rowShape<FileRow>()({
  text: ['id', 'tenant', 'purpose'],
  number: ['bytes', 'createdMs', 'expiresMs'],
  bytes: ['facts'],
});

function filesIn({ prefix, rows, run, first }: SqlTables) {
  const file = `${prefix}stored_file`;
  const chunk = `${prefix}file_chunk`;
  const { columns, cells, read: fileOf } = fileShape;
  return {
    async putFile(row) {
      const sql = `INSERT INTO ${file} (${columns}, complete) VALUES ($1, $2, $3, $4, $5, $6, $7, 0)`;
      await run(sql, cells(row));
    },
    async growFile(id, bytes, was) {
      const sql = `UPDATE ${file} SET bytes = $2 WHERE id = $1 AND bytes = $3 AND complete = 0`;
      return (await run(sql, [id, bytes, was])) === 1;
    },
    async completeFile(id) {
      await run(`UPDATE ${file} SET complete = 1 WHERE id = $1`, [id]);
    },
    async renewFile(id, expiresMs, facts) {
      const sql = `UPDATE ${file} SET expires_ms = $2, facts = $3 WHERE id = $1`;
      await run(sql, [id, expiresMs, facts]);
    },
    async replaceFacts(id, was, facts) {
      const sql = `UPDATE ${file} SET facts = $3 WHERE id = $1 AND facts = $2`;
      return (await run(sql, [id, was, facts])) === 1;
    },
    async findFile(tenant, id, nowMs) {
      const sql = `SELECT ${columns} FROM ${file}
        WHERE id = $1 AND tenant = $2 AND complete = 1 AND expires_ms > $3`;
      return first(sql, [id, tenant, nowMs], fileOf);
    },
    async findUnfinished(tenant, id) {
      const sql = `SELECT ${columns} FROM ${file} WHERE id = $1 AND tenant = $2 AND complete = 0`;
      return first(sql, [id, tenant], fileOf);
    },
    async listFiles(listed) {
      const { values, place, behind, order } = pageOf(listed);
      const purposes = listed.purposes.map(place).join(', ');
      const sql = `SELECT ${columns} FROM ${file}
        WHERE tenant = $1 AND complete = 1 AND expires_ms > $2 ${behind} AND purpose IN (${purposes})
        ORDER BY id ${order} LIMIT $3`;
      return (await rows(sql, values)).map(fileOf);
    },
    async removeFile(id) {
      await run(`DELETE FROM ${file} WHERE id = $1`, [id]);
    },
    async expiredFiles(nowMs, unfinishedMs, limit) {
      const sql = `SELECT ${columns} FROM ${file}
        WHERE expires_ms <= $1 OR (complete = 0 AND created_ms < $2) LIMIT $3`;
      return (await rows(sql, [nowMs, unfinishedMs, limit])).map(fileOf);
    },
    async putChunk(of, seq, content) {
      // An upload that goes on where it broke off may write its last chunk again.
      const sql = `INSERT INTO ${chunk} (file, seq, content) VALUES ($1, $2, $3)
        ON CONFLICT (file, seq) DO UPDATE SET content = excluded.content`;
      await run(sql, [of, seq, content]);
    },
    async chunk(of, seq) {
      const sql = `SELECT content FROM ${chunk} WHERE file = $1 AND seq = $2`;
      return first(sql, [of, seq], (row) => row.content as Uint8Array);
    },
    async removeChunks(of) {
      // In pieces, so that no other write waits for long.
      const sql = `DELETE FROM ${chunk} WHERE (file, seq) IN (SELECT file, seq FROM ${chunk} WHERE file = $1 LIMIT 16)`;
      while ((await run(sql, [of])) !== 0);
    },
  } satisfies Partial<BatchStore>;
}

const newShape = rowShape<NewBatch>()({
  text: ['id', 'tenant', 'account', 'keyId', 'format', 'endpoint', 'inputFile'],
  number: ['createdMs', 'deadlineMs'],
  bytes: ['facts'],
});
const progressShape = rowShape<Omit<BatchRow, keyof NewBatch>>()({
  'text?': ['ending', 'outputFile', 'errorFile'],
  number: ['succeeded', 'errored', 'aheadSucceeded'],
  'number?': ['total', 'countedMs', 'cancellingMs', 'finalizingMs', 'endedMs'],
});
const batchColumns = `${newShape.columns}, ${progressShape.columns}`;
const batchOf = (row: Row): BatchRow => ({ ...newShape.read(row), ...progressShape.read(row) });

/** For `lock`: batches of one tenant are made one after another. */
const tenantLock = 0x63_76_62;

function batchesIn({ prefix, rows, write, transaction, lock, run, first }: SqlTables) {
  const batch = `${prefix}batch`;
  const line = `${prefix}batch_line`;
  return {
    async createBatch(row, openMax) {
      const sql = `INSERT INTO ${batch} (${newShape.columns}) SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10
        WHERE (SELECT count(*) FROM ${batch} WHERE tenant = $2 AND ended_ms IS NULL) < $11`;
      // A transaction, whose outcome is known: one that is refused must not run.
      return transaction('write', function* () {
        yield* lock(tenantLock, row.tenant);
        return (yield* change(sql, [...newShape.cells(row), openMax])) === 1 ? 'created' : 'full';
      });
    },
    async findBatch(tenant, id, nowMs) {
      const sql = `SELECT ${batchColumns} FROM ${batch}
        WHERE id = $1 AND tenant = $2 AND (expires_ms IS NULL OR expires_ms > $3)`;
      return first(sql, [id, tenant, nowMs], batchOf);
    },
    async listBatches(listed) {
      const { values, place, behind, order } = pageOf(listed);
      const sql = `SELECT ${batchColumns} FROM ${batch}
        WHERE tenant = $1 AND (expires_ms IS NULL OR expires_ms > $2) ${behind} AND format = ${place(listed.format)}
        ORDER BY id ${order} LIMIT $3`;
      return (await rows(sql, values)).map(batchOf);
    },
    async isRead(file) {
      const sql = `SELECT 1 AS one FROM ${batch} WHERE input_file = $1 AND ended_ms IS NULL LIMIT 1`;
      return (await rows(sql, [file])).length > 0;
    },
    async cancel(tenant, id, nowMs) {
      const sql = `UPDATE ${batch} SET cancelling_ms = $3
        WHERE id = $1 AND tenant = $2 AND ended_ms IS NULL AND cancelling_ms IS NULL`;
      await run(sql, [id, tenant, nowMs]);
    },
    async removeBatch(tenant, id) {
      const values = [id, tenant];
      const ours = `SELECT id FROM ${batch} WHERE id = $1 AND tenant = $2 AND ended_ms IS NOT NULL`;
      await write([
        { sql: `DELETE FROM ${line} WHERE batch IN (${ours})`, values },
        { sql: `DELETE FROM ${batch} WHERE id = $1 AND tenant = $2 AND ended_ms IS NOT NULL`, values },
      ]);
    },
    async removeLines(limit) {
      const noLines = `UPDATE ${batch} SET has_lines = 0 WHERE ended_ms IS NOT NULL AND has_lines = 1
        AND NOT EXISTS (SELECT 1 FROM ${line} WHERE batch = ${batch}.id)`;
      const sql = `DELETE FROM ${line} WHERE (batch, seq) IN (
        SELECT line.batch, line.seq FROM ${batch} AS over JOIN ${line} AS line ON line.batch = over.id
        WHERE over.ended_ms IS NOT NULL AND over.has_lines = 1 LIMIT $1)`;
      const removed = await run(sql, [limit]);
      if (removed === 0) await run(noLines, []);
      return removed;
    },
    async removeExpired(nowMs) {
      const sql = `DELETE FROM ${batch} WHERE expires_ms <= $1 AND has_lines = 0`;
      return run(sql, [nowMs]);
    },
  } satisfies Partial<BatchStore>;
}

/** The work at batches, under leases. */
function workIn(tables: SqlTables) {
  const { prefix, rows, write, skipLocked, run } = tables;
  const batch = `${prefix}batch`;
  const file = `${prefix}stored_file`;
  const { free, isSomeFree, renew, release } = leasedRows(tables, batch, 'ended_ms IS NULL');
  return {
    renew,
    release,
    async lease(worker, nowMs, untilMs, limit) {
      if (!(await isSomeFree(nowMs))) return [];
      const sql = `UPDATE ${batch} SET worker = $2, lease_until_ms = $3
        WHERE id IN (SELECT id FROM ${batch} WHERE ${free} ORDER BY created_ms LIMIT $4 ${skipLocked})
        RETURNING ${batchColumns}`;
      return (await rows(sql, [nowMs, worker, untilMs, limit])).map(batchOf);
    },
    async counted({ id, worker }, total, nowMs) {
      const sql = `UPDATE ${batch} SET total = $3, counted_ms = $4 WHERE ${held}`;
      return (await run(sql, [id, worker, total, nowMs])) === 1;
    },
    async away({ id, worker }, { facts, expected, aheadSucceeded }) {
      const sql = `UPDATE ${batch} SET facts = $3, expected_tokens = $4, expected_usd_nano = $5, ahead_succeeded = $6
        WHERE ${held}`;
      return (await run(sql, [id, worker, facts, expected.tokens, expected.usdNano, aheadSucceeded])) === 1;
    },
    async expected(account) {
      // Sums of whole numbers may be too large for them.
      const sql = `SELECT sum(CAST(expected_tokens AS DOUBLE PRECISION)) AS tokens,
          sum(CAST(expected_usd_nano AS DOUBLE PRECISION)) AS usd_nano
        FROM ${batch} WHERE ended_ms IS NULL AND account = $1`;
      const [row] = await rows(sql, [account]);
      return { tokens: Number(row?.tokens ?? 0), usdNano: Number(row?.usd_nano ?? 0) };
    },
    async finalizing({ id, worker }, nowMs) {
      const sql = `UPDATE ${batch} SET finalizing_ms = coalesce(finalizing_ms, $3) WHERE ${held}`;
      return (await run(sql, [id, worker, nowMs])) === 1;
    },
    async end({ id, worker }, { ending, atMs, expiresMs, outputFile, errorFile, facts }) {
      const sql = `UPDATE ${batch} SET ending = $3, ended_ms = $4, expires_ms = $5, output_file = $6, error_file = $7,
          facts = coalesce($8, facts), worker = NULL WHERE ${held}`;
      const files = [outputFile, errorFile].filter((one) => one !== null);
      const complete = `UPDATE ${file} SET complete = 1 WHERE id = $1`;
      const [changes] = await write([
        { sql, values: [id, worker, ending, atMs, expiresMs, outputFile, errorFile, facts], needed: true },
        ...files.map((one) => ({ sql: complete, values: [one] })),
      ]);
      return changes === 1;
    },
  } satisfies Partial<BatchStore>;
}

/** The work at lines of a leased batch. */
function linesIn({ prefix, rows, write }: SqlTables) {
  const batch = `${prefix}batch`;
  const line = `${prefix}batch_line`;
  return {
    async lines(id, after, limit) {
      const sql = `SELECT seq, request_id, state, part FROM ${line} WHERE batch = $1 AND seq > $2 ORDER BY seq LIMIT $3`;
      return (await rows(sql, [id, after, limit])).map((row) => ({
        seq: Number(row.seq),
        requestId: String(row.request_id),
        ended: row.state === 'succeeded' || row.state === 'errored',
        part: row.part === null ? null : Number(row.part),
        returned: row.state === 'returned',
      }));
    },
    async note({ id, worker }, begun, ended) {
      const succeeded = ended.filter(({ state }) => state === 'succeeded').length;
      const fence = `UPDATE ${batch} SET succeeded = succeeded + $3, errored = errored + $4 WHERE ${held}`;
      const again = `UPDATE ${line} SET request_id = $3, part = $4, state = 'begun' WHERE batch = $1 AND seq = $2`;
      const anew = `INSERT INTO ${line} (batch, seq, request_id, key, part, state) VALUES ($1, $2, $3, $4, $5, 'begun')
        ON CONFLICT DO NOTHING`;
      const end = `INSERT INTO ${line} (batch, seq, request_id, state, result, bytes) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (batch, seq) DO UPDATE SET request_id = excluded.request_id, state = excluded.state,
          result = excluded.result, bytes = excluded.bytes`;
      const steps: Step[] = [
        { sql: fence, values: [id, worker, succeeded, ended.length - succeeded], needed: true },
        ...begun.map(({ seq, requestId, key, part }) =>
          key === null
            ? { sql: again, values: [id, seq, requestId, part] }
            : { sql: anew, values: [id, seq, requestId, key, part] },
        ),
        ...ended.map(({ seq, requestId, state, result, bytes }) => {
          return { sql: end, values: [id, seq, requestId, state, result, bytes] };
        }),
      ];
      const changes = await write(steps);
      if (changes[0] === 0) return null;
      return new Set(begun.filter((_, at) => changes[at + 1] === 0).map(({ seq }) => seq));
    },
    async results(id, after, limit) {
      const sql = `SELECT seq, state, result FROM ${line}
        WHERE batch = $1 AND seq > $2 AND state IN ('succeeded', 'errored') ORDER BY seq LIMIT $3`;
      return (await rows(sql, [id, after, limit])).map((row) => ({
        seq: Number(row.seq),
        state: row.state as 'succeeded' | 'errored',
        result: row.result as Uint8Array,
      }));
    },
  } satisfies Partial<BatchStore>;
}

/** Lines of a leased batch that a provider's own batch has. */
function awayLinesIn({ prefix, write, first }: SqlTables) {
  const line = `${prefix}batch_line`;
  const fence = `UPDATE ${prefix}batch SET worker = worker WHERE ${held}`;
  const fenced = async ({ id, worker }: Lease, steps: readonly Step[]) =>
    (await write([{ sql: fence, values: [id, worker], needed: true }, ...steps]))[0] === 1;
  return {
    returned(lease, part, lines) {
      const sql = `UPDATE ${line} SET state = 'returned', result = $5
        WHERE batch = $1 AND seq = $2 AND request_id = $3 AND part = $4 AND state = 'begun'`;
      const valuesOf = ({ seq, requestId, answer }: ReturnedLine) => [lease.id, seq, requestId, part, answer];
      const steps = lines.map((one) => ({ sql, values: valuesOf(one) }));
      return fenced(lease, steps);
    },
    async returnedLine(id, seq) {
      const sql = `SELECT result FROM ${line} WHERE batch = $1 AND seq = $2 AND state = 'returned'`;
      return first(sql, [id, seq], (row) => row.result as Uint8Array);
    },
    releaseLines(lease, part) {
      const sql = `UPDATE ${line} SET part = NULL WHERE batch = $1 AND part = $2 AND state = 'begun'`;
      return fenced(lease, [{ sql, values: [lease.id, part] }]);
    },
  } satisfies Partial<BatchStore>;
}

const held = 'id = $1 AND worker = $2 AND ended_ms IS NULL';

/** The first three values of a list, more places, and its condition. */
function pageOf({ tenant, nowMs, limit, after, order }: Listed) {
  const values: unknown[] = [tenant, nowMs, limit];
  const place = (value: unknown) => `$${values.push(value)}`;
  const behind = after === null ? '' : `AND id ${order === 'asc' ? '>' : '<'} ${place(after)}`;
  return { values, place, behind, order };
}
