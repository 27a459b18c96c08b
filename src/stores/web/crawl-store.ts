import type { Lease } from '../../kernel/leased-jobs.ts';
import type {
  CrawlEnd,
  CrawlStore,
  FinishedPage,
  FoundUrls,
  NewHook,
  TakenPage,
} from '../../tools/crawl/crawl-store.ts';
import { leasedRows } from '../leased-rows.ts';
import { type ClosableTables, change, type Row, read, type Step, type Work } from '../sql-tables.ts';
import { crawlOf, errorOf, hookOf } from './crawl-rows.ts';

/** Tables of crawls, in either database. */
export interface CrawlTables extends ClosableTables {
  /** Columns of a page's key and shape, and SQL for the value at `place` in them. */
  pages: { key: string; shape: string; value(place: string): string };
  /** FROM: the elements of the JSON array in `$2`, as `value` and their order `at`. */
  given: string;
}

/** Crawls over either database. What a caller was answered (made, cancelled) survives a power cut. */
export function createCrawlStore(tables: CrawlTables): CrawlStore {
  const access = accessTo(tables);
  return { ...callersPart(access), ...workersPart(access), ...upkeepPart(access), close: tables.close };
}

type Access = ReturnType<typeof accessTo>;

function accessTo(tables: CrawlTables) {
  const { prefix, transaction, forUpdate } = tables;
  const crawl = `${prefix}crawl`;
  const held = `SELECT page_limit, charged, ends FROM ${crawl}
    WHERE id = $1 AND worker = $2 AND status = 'scraping' ${forUpdate}`;
  return {
    ...tables,
    crawl,
    page: `${prefix}crawl_page`,
    hook: `${prefix}crawl_hook`,
    changes: pageChanges(tables),
    *found(tenant: string, id: string) {
      const [row] = yield* read(`SELECT * FROM ${crawl} WHERE tenant = $1 AND id = $2`, [tenant, id]);
      return row === undefined ? null : crawlOf(row);
    },
    /** Work under a lease: `lost` without it. Its crawl is locked until the end. */
    holding: <T>(lease: Lease, lost: T, work: (crawl: ReturnType<typeof heldOf>) => Work<T>) =>
      transaction('write', function* () {
        const [row] = yield* read(held, [lease.id, lease.worker]);
        return row === undefined ? lost : yield* work(heldOf(row));
      }),
  };
}

function heldOf(row: Row) {
  return { pageLimit: Number(row.page_limit), charged: Number(row.charged), ends: Number(row.ends) };
}

/** Written out even where one state would do: else SQLite does not see that the partial index on open pages fits. */
const open = `state IN ('waiting', 'fetching')`;

function pageStatements(crawl: string, page: string, { key, shape, value }: CrawlTables['pages'], given: string) {
  const fresh = `SELECT page_key, url, depth, page_shape, at FROM (
      SELECT ${value('(value ->> 0)')} AS page_key, value ->> 1 AS url, CAST(value ->> 2 AS INTEGER) AS depth,
        ${value('(value ->> 3)')} AS page_shape, at
      FROM ${given}
    ) AS given WHERE NOT EXISTS (SELECT 1 FROM ${page} p WHERE p.crawl = $1 AND p.${key} = given.page_key)`;
  const fewOfShape = `SELECT page_key, url, depth, page_shape, at FROM (
      SELECT page_key, url, depth, page_shape, at, row_number() OVER (PARTITION BY page_shape ORDER BY at) AS of_shape
      FROM (${fresh}) AS fresh
    ) AS shaped WHERE page_shape IS NULL OR of_shape + (
      SELECT count(*) FROM ${page} p WHERE p.crawl = $1 AND p.${shape} = shaped.page_shape) <= $4`;
  /** New links in their order, as many as there is room for. */
  const adding = (links: string) => `INSERT INTO ${page} (crawl, seq, ${key}, url, depth, ${shape}, state, charged)
    SELECT c.id, c.rows + nth, page_key, fitting.url, depth, page_shape, 'waiting', 0
    FROM ${crawl} c, (
      SELECT page_key, url, depth, page_shape, row_number() OVER (ORDER BY at) AS nth FROM (${links}) AS links
    ) AS fitting
    WHERE c.id = $1 AND c.rows + nth <= $3`;
  return {
    addFresh: adding(fresh),
    addFewOfShape: adding(fewOfShape),
    addAlias: `INSERT INTO ${page} (crawl, seq, ${key}, url, depth, state, charged)
    SELECT c.id, c.rows + 1, ${value('$2')}, '', 0, 'alias', 0 FROM ${crawl} c WHERE c.id = $1 ON CONFLICT DO NOTHING`,
    dropAlias: `UPDATE ${page} SET state = 'alias'
    WHERE crawl = $1 AND ${key} = ${value('$2')} AND seq <> $3 AND state = 'waiting'`,
    countEnd: `UPDATE ${crawl} SET ends = ends + $2, done = done + $3, failed = failed + $4, waiting = waiting - 1,
    charged = charged - $5 WHERE id = $1`,
  };
}

/** Changes of a crawl's pages, within a transaction. */
function pageChanges({ prefix, pages, given }: CrawlTables) {
  const crawl = `${prefix}crawl`;
  const page = `${prefix}crawl_page`;
  const { addFresh, addFewOfShape, addAlias, dropAlias, countEnd } = pageStatements(crawl, page, pages, given);

  /** Rows that are known, too many, or too many of one shape are left out. */
  function* add(id: string, { urls, rowsMax, shapeMax }: FoundUrls): Work<void> {
    if (urls.length === 0) return;
    const links = new Map<string, readonly unknown[]>();
    for (const { key, url, depth, shape } of urls) {
      const known = storable(key);
      if (!links.has(known)) links.set(known, [known, storable(url), depth, shape === null ? null : storable(shape)]);
    }
    const values = [id, JSON.stringify([...links.values()]), rowsMax];
    const added = urls.some(({ shape }) => shape !== null)
      ? yield* change(addFewOfShape, [...values, shapeMax])
      : yield* change(addFresh, values);
    if (added === 0) return;
    yield* change(`UPDATE ${crawl} SET rows = rows + $2, waiting = waiting + $3 WHERE id = $1`, [id, added, added]);
  }

  function* queue(id: string, hooks: readonly NewHook[]): Work<void> {
    const sql = `INSERT INTO ${prefix}crawl_hook (id, crawl, body, created_ms, tries, next_ms)
      VALUES ($1, $2, $3, $4, 0, $4)`;
    for (const hook of hooks) yield* change(sql, [hook.id, id, hook.body, hook.createdMs]);
  }

  function* end(id: string, { status, error, atMs, expiresMs }: CrawlEnd): Work<void> {
    // After it nothing is held: the lease is over with the crawl.
    const ended = `UPDATE ${crawl} SET status = $2, error = $3, ended_ms = $4, expires_ms = $5, waiting = 0, worker = NULL
      WHERE id = $1`;
    yield* change(ended, [id, status, error, atMs, expiresMs]);
    yield* change(`DELETE FROM ${page} WHERE crawl = $1 AND ${open}`, [id]);
  }

  function* finish(id: string, ends: number, ended: FinishedPage, found: FoundUrls, hooks: readonly NewHook[]) {
    const { seq, atMs } = ended;
    if (ended.state === 'failed') {
      const fail = `UPDATE ${page} SET state = 'failed', ended = $3, ended_ms = $4, code = $5, error = $6, charged = $7
        WHERE crawl = $1 AND seq = $2`;
      yield* change(fail, [id, seq, ends + 1, atMs, ended.code, ended.error, ended.free ? 0 : 1]);
      yield* change(countEnd, [id, 1, 0, 1, ended.free ? 1 : 0]);
      return 0;
    }
    const same = `SELECT 1 AS one FROM ${page} WHERE crawl = $1 AND content_hash = $2 LIMIT 1`;
    const copied = ended.state === 'done' && (yield* read(same, [id, ended.contentHash])).length > 0;
    if (ended.state === 'duplicate' || copied) {
      const duplicate = `UPDATE ${page} SET state = 'duplicate', ended_ms = $3 WHERE crawl = $1 AND seq = $2`;
      yield* change(duplicate, [id, seq, atMs]);
      yield* change(countEnd, [id, 0, 0, 0, 0]);
      // The same texts have the same links.
      if (!copied) yield* add(id, found);
      return 0;
    }
    const done = `UPDATE ${page} SET state = 'done', ended = $3, ended_ms = $4, content_hash = $5, page = $6
      WHERE crawl = $1 AND seq = $2`;
    yield* change(done, [id, seq, ends + 1, atMs, ended.contentHash, JSON.stringify(ended.page)]);
    yield* change(countEnd, [id, 1, 1, 0, 0]);
    if (ended.aliasKey !== null) {
      if ((yield* change(dropAlias, [id, ended.aliasKey, seq])) === 1) yield* change(countEnd, [id, 0, 0, 0, 0]);
      else if ((yield* change(addAlias, [id, ended.aliasKey])) === 1)
        yield* change(`UPDATE ${crawl} SET rows = rows + 1 WHERE id = $1`, [id]);
    }
    yield* add(id, found);
    yield* queue(id, hooks);
    return Buffer.byteLength(JSON.stringify(ended.page));
  }

  return { add, queue, end, finish };
}

/** JSON of PostgreSQL holds no NUL and no half of a pair. */
function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}

/** For `lock`: crawls of one tenant are made one after another. */
const tenantLock = 0x63_76_77;
/** A limit is needed where a part is skipped. */
const endless = 1_000_000_000;

/** Calls for callers. */
function callersPart({ rows, transaction, lock, found, crawl, page, changes }: Access) {
  return {
    create: (made, seeds, { runningMax, storedMax }) =>
      transaction('durable', function* () {
        yield* lock(tenantLock, made.tenant);
        const running = `SELECT count(*) AS count FROM ${crawl} WHERE tenant = $1 AND status = 'scraping'`;
        const [count] = yield* read(running, [made.tenant]);
        if (Number(count?.count) >= runningMax) return 'full';
        const surplus = `DELETE FROM ${crawl} WHERE id IN (
          SELECT id FROM ${crawl} WHERE tenant = $1 AND status <> 'scraping'
          ORDER BY created_ms DESC, id DESC LIMIT ${endless} OFFSET $2)`;
        yield* change(surplus, [made.tenant, storedMax - 1]);
        const insert = `INSERT INTO ${crawl} (id, tenant, account, key_id, url, options, status, page_limit, rows, ends,
            done, failed, waiting, charged, seeded, lease_until_ms, created_ms)
          VALUES ($1, $2, $3, $4, $5, $6, 'scraping', $7, 0, 0, 0, 0, 0, 0, 0, 0, $8)`;
        const { id, tenant, account, keyId, url, options, createdMs } = made;
        const text = JSON.stringify(options);
        yield* change(insert, [id, tenant, account, keyId, url, text, options.limit, createdMs]);
        yield* changes.add(id, { urls: seeds, rowsMax: seeds.length, shapeMax: 1 });
        return 'created';
      }),
    find: (tenant, id) => transaction('snapshot', () => found(tenant, id)),
    async list(tenant, { kind, which, before, limit }) {
      const running = which === 'running' ? `AND status = 'scraping'` : '';
      const sql = `SELECT * FROM ${crawl} WHERE tenant = $1 AND id < $2
        AND substr(id, 1, length(CAST($4 AS TEXT))) = $4 ${running} ORDER BY id DESC LIMIT $3`;
      const listed = await rows(sql, [tenant, before ?? '\u{10ffff}', limit, `${kind}_`]);
      return listed.map(crawlOf);
    },
    cancel: (tenant, id, end) =>
      transaction('durable', function* () {
        // Pages under way come to nothing, and are given back.
        const stop = `UPDATE ${crawl} SET worker = NULL, charged = charged - (
            SELECT count(*) FROM ${page} WHERE crawl = $2 AND state = 'fetching' AND charged > 0 AND ${open})
          WHERE tenant = $1 AND id = $2 AND status = 'scraping'`;
        // It locks the crawl: a page that ends now ends before it, or not at all.
        if ((yield* change(stop, [tenant, id])) === 1) yield* changes.end(id, end);
        return yield* found(tenant, id);
      }),

    async results(id, after, limit, bytesMax) {
      // The database adds up, so that a too large amount is not even read.
      const next = `SELECT ended, octet_length(page) AS bytes FROM ${page}
        WHERE crawl = $1 AND ended > $2 AND state = 'done' ORDER BY ended LIMIT $3`;
      // By IN: SQLite would look for the rows of a join one by one.
      const sql = `SELECT ended, page FROM ${page} WHERE crawl = $1 AND ended > $2 AND ended IN (
          SELECT ended FROM (
            SELECT ended, sum(bytes) OVER (ORDER BY ended) AS bytes, row_number() OVER (ORDER BY ended) AS at
            FROM (${next}) AS following
          ) AS summed WHERE bytes <= $4 OR at = 1
        ) ORDER BY ended`;
      const found = await rows(sql, [id, after, limit, bytesMax]);
      return found.map((row) => ({ at: Number(row.ended), page: JSON.parse(String(row.page)) }));
    },
    async errors(id, limit) {
      const sql = `SELECT seq, url, code, error, ended_ms FROM ${page}
        WHERE crawl = $1 AND ended IS NOT NULL AND state = 'failed' ORDER BY ended LIMIT $2`;
      return (await rows(sql, [id, limit])).map(errorOf);
    },
  } satisfies Partial<CrawlStore>;
}

/** The work at crawls, under leases. */
function workersPart(access: Access) {
  const { first, transaction, holding, oneOf, skipLocked, forUpdate, pages, crawl, page, changes } = access;
  const { free, isSomeFree, renew, release } = leasedRows(access, crawl, `status = 'scraping'`);
  return {
    renew,
    release,
    async lease(worker, nowMs, untilMs, limit) {
      if (!(await isSomeFree(nowMs))) return [];
      // Round the tenants: first the crawls with the fewest others of their tenant before them, leased or older.
      // Replicas that ask at the same moment get different ones.
      const lease = `UPDATE ${crawl} SET worker = $2, lease_until_ms = $3 WHERE id IN (
        SELECT id FROM ${crawl} AS one WHERE ${free}
        ORDER BY (SELECT count(*) FROM ${crawl} AS other WHERE other.tenant = one.tenant AND other.status = 'scraping'
          AND (other.lease_until_ms > $1 OR (other.created_ms, other.id) < (one.created_ms, one.id))), created_ms, id
        LIMIT $4 ${skipLocked}) RETURNING *`;
      const reopen = `UPDATE ${page} SET state = 'waiting'
        WHERE ${oneOf('crawl', '$1')} AND state = 'fetching' AND ${open}`;
      return transaction('write', function* () {
        const leased = yield* read(lease, [nowMs, worker, untilMs, limit]);
        const crawls = leased.map(crawlOf);
        if (crawls.length > 0) yield* change(reopen, [crawls.map(({ id }) => id)]);
        return crawls.sort((a, b) => a.createdMs - b.createdMs || (a.id < b.id ? -1 : 1));
      });
    },
    take: (lease, count) => holding(lease, null, (held) => takePages(crawl, page, held, lease.id, count)),
    putBack: ({ id, worker }, { seq, paid, charge }) =>
      transaction('write', function* () {
        const running = `SELECT worker FROM ${crawl} WHERE id = $1 AND status = 'scraping' ${forUpdate}`;
        const [held] = yield* read(running, [id]);
        if (held === undefined) return;
        // A second try after a first one changes nothing, and neither does one after another take has charged it.
        const unpaid = `UPDATE ${page} SET charged = -charged WHERE crawl = $1 AND seq = $2 AND charged = $3 AND ${open}`;
        if (!paid && (yield* change(unpaid, [id, seq, charge])) === 1)
          yield* change(`UPDATE ${crawl} SET charged = charged - 1 WHERE id = $1`, [id]);
        const back = `UPDATE ${page} SET state = 'waiting' WHERE crawl = $1 AND seq = $2 AND abs(charged) = $3 AND ${open}`;
        if (held.worker === worker) yield* change(back, [id, seq, charge]);
      }),
    finish: (lease, ended, found, hooks) =>
      holding<number | null>(lease, null, function* ({ ends }) {
        const unpaid = `UPDATE ${page} SET state = 'waiting' WHERE crawl = $1 AND seq = $2 AND charged <= 0`;
        if ((yield* change(unpaid, [lease.id, ended.seq])) === 1) return null;
        return yield* changes.finish(lease.id, ends, ended, found, hooks);
      }),
    async page(id, key) {
      const sql = `SELECT page FROM ${page} WHERE crawl = $1 AND ${pages.key} = ${pages.value('$2')} AND state = 'done'`;
      return first(sql, [id, storable(key)], (row) => JSON.parse(String(row.page)));
    },
    add: (lease, found) =>
      holding(lease, false, function* () {
        yield* changes.add(lease.id, found);
        return true;
      }),
    begun: (lease, hooks) =>
      holding(lease, false, function* () {
        yield* change(`UPDATE ${crawl} SET seeded = 1 WHERE id = $1`, [lease.id]);
        yield* changes.queue(lease.id, hooks);
        return true;
      }),
    end: (lease, end, hooks) =>
      holding(lease, false, function* () {
        yield* changes.end(lease.id, end);
        yield* changes.queue(lease.id, hooks);
        return true;
      }),
  } satisfies Partial<CrawlStore>;
}

function* takePages(
  crawl: string,
  page: string,
  { charged: before, pageLimit }: ReturnType<typeof heldOf>,
  id: string,
  count: number,
): Work<TakenPage[]> {
  const waiting = `SELECT seq, url, depth, charged FROM ${page}
          WHERE crawl = $1 AND state = 'waiting' AND ${open} ORDER BY seq LIMIT $2`;
  let charged = before;
  const taken: TakenPage[] = [];
  for (const row of yield* read(waiting, [id, count])) {
    const known = Number(row.charged);
    const paid = known > 0;
    if (!paid && charged >= pageLimit) continue;
    if (!paid) charged += 1;
    taken.push({
      seq: Number(row.seq),
      url: String(row.url),
      depth: Number(row.depth),
      paid,
      charge: paid ? known : 1 - known,
    });
  }
  if (taken.length === 0) return taken;
  const places = taken.map((_, at) => `$${at + 2}`).join(', ');
  // Each take that charges it has its number; below 0: the take of that number has given it back unpaid.
  const take = `UPDATE ${page} SET state = 'fetching', charged = CASE WHEN charged > 0 THEN charged ELSE 1 - charged END
    WHERE crawl = $1 AND seq IN (${places})`;
  yield* change(take, [id, ...taken.map(({ seq }) => seq)]);
  yield* change(`UPDATE ${crawl} SET charged = $2 WHERE id = $1`, [id, charged]);
  return taken;
}

/** Work apart from the pages: webhooks that are due, and crawls whose retention is over. */
function upkeepPart({ rows, write, transaction, oneOf, skipLocked, crawl, hook }: Access) {
  const step = (sql: string, values: readonly unknown[]): Step[] => [{ sql, values }];
  return {
    async dueHooks(nowMs, untilMs, limit, without) {
      if ((await rows(`SELECT 1 AS one FROM ${hook} WHERE next_ms <= $1 LIMIT 1`, [nowMs])).length === 0) return [];
      const lease = `
        WITH placed AS MATERIALIZED (
          SELECT h.id, h.created_ms, row_number() OVER (PARTITION BY c.tenant ORDER BY h.created_ms, h.id) AS place
          FROM ${hook} h JOIN ${crawl} c ON c.id = h.crawl
          WHERE next_ms <= $1 AND NOT ${oneOf('c.tenant', '$3')}
        )
        UPDATE ${hook} SET next_ms = $2 WHERE id IN (
          SELECT due.id FROM ${hook} AS due JOIN placed ON placed.id = due.id
          WHERE due.next_ms <= $1
          ORDER BY placed.place, placed.created_ms, placed.id LIMIT $4 ${skipLocked}
        ) RETURNING id`;
      const leased = `SELECT h.*, c.options, c.tenant FROM ${hook} h JOIN ${crawl} c ON c.id = h.crawl
        WHERE ${oneOf('h.id', '$1')} ORDER BY h.created_ms, h.id`;
      return transaction('write', function* () {
        const ids = (yield* read(lease, [nowMs, untilMs, without, limit])).map(({ id }) => id);
        return (yield* read(leased, [ids])).map(hookOf);
      });
    },
    async hookDone(id) {
      await write(step(`DELETE FROM ${hook} WHERE id = $1`, [id]));
    },
    async hookLater(id, tries, nextMs) {
      await write(step(`UPDATE ${hook} SET tries = $2, next_ms = $3 WHERE id = $1`, [id, tries, nextMs]));
    },
    async prune(nowMs) {
      // A few at a time: their pages go with them.
      const sql = `DELETE FROM ${crawl} WHERE id IN (
        SELECT id FROM ${crawl} WHERE expires_ms <= $1 ORDER BY expires_ms LIMIT 4)`;
      const [removed = 0] = await write(step(sql, [nowMs]));
      return removed;
    },
  } satisfies Partial<CrawlStore>;
}
