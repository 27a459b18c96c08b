import type { Lease } from '../../kernel/leased-jobs.ts';
import type { CrawlStore } from '../../tools/crawl/crawl-store.ts';
import { type CrawlColumns, crawlOf, type HookColumns, hookOf } from '../crawl-rows.ts';
import { add, endCrawl, finishPage, queue } from './crawl-changes.ts';
import { crawlMigrations } from './crawl-schema.ts';
import { crawlStatements } from './crawl-statements.ts';
import { openDatabase } from './database.ts';
import { migrate } from './migrations.ts';
import { transaction } from './transaction.ts';

/** Longest wait of a start for another that migrates. */
const migrationBusyTimeoutMs = 10_000;

/**
 * Crawls in `crawl.db`. What a caller was answered (made, cancelled) survives a power cut; of pages one may lose the last
 * few, which are read again: a sync for each held up the loop for 2 ms.
 */
export function openSqliteCrawlStore(file: string): CrawlStore {
  const database = openDatabase(file, 'checkpoint', migrationBusyTimeoutMs);
  try {
    migrate(database, crawlMigrations);
    database.exec('PRAGMA busy_timeout = 0; PRAGMA foreign_keys = ON');
  } catch (error) {
    database.close();
    throw error;
  }
  const access = accessTo(database);
  return {
    ...callersPart(access),
    ...workersPart(access),
    ...upkeepPart(access),
    async close() {
      database.close();
    },
  };
}

type Access = ReturnType<typeof accessTo>;

function accessTo(database: ReturnType<typeof openDatabase>) {
  const sql = crawlStatements(database);
  const atOnce = <T>(work: () => T) => transaction(database, work);
  async function durably<T>(work: () => T): Promise<T> {
    database.exec('PRAGMA synchronous = FULL');
    try {
      return await atOnce(work);
    } finally {
      database.exec('PRAGMA synchronous = NORMAL');
    }
  }
  const held = ({ id, worker }: Lease) => sql.held.get(id, worker) as unknown as HeldColumns | undefined;
  const found = (tenant: string, id: string) => {
    const row = sql.find.get(tenant, id);
    return row === undefined ? null : crawlOf(row as unknown as CrawlColumns);
  };
  return { sql, atOnce, durably, held, found };
}

/** Calls for callers. */
function callersPart({ sql, durably, found }: Access) {
  return {
    create: (crawl, seeds, { runningMax, keptMax }) =>
      durably(() => {
        if (Number(sql.running.get(crawl.tenant)?.count) >= runningMax) return 'full';
        sql.removeOldest.run(crawl.tenant, keptMax - 1);
        const { id, tenant, account, keyId, url, options, createdMs } = crawl;
        sql.create.run(id, tenant, account, keyId, url, JSON.stringify(options), options.limit, createdMs);
        add(sql, id, { urls: seeds, rowsMax: seeds.length, shapeMax: 1 });
        return 'created';
      }),
    async find(tenant, id) {
      return found(tenant, id);
    },
    async list(tenant, { kind, which, before, limit }) {
      const statement = which === 'running' ? sql.listRunning : sql.list;
      const rows = statement.all(tenant, `${kind}_*`, before ?? '\u{10ffff}', limit);
      return (rows as unknown as CrawlColumns[]).map(crawlOf);
    },
    cancel: (tenant, id, end) =>
      durably(() => {
        if (found(tenant, id)?.status === 'scraping') endCrawl(sql, id, end);
        return found(tenant, id);
      }),

    async results(id, after, limit, charsMax) {
      const results = [];
      let chars = 0;
      for (const row of sql.results.iterate(id, after, limit)) {
        const text = String(row.page);
        chars += text.length;
        if (chars > charsMax && results.length > 0) break;
        results.push({ at: Number(row.ended), page: JSON.parse(text) });
      }
      return results;
    },
    async errors(id, limit) {
      return sql.errors.all(id, limit).map((row) => ({
        seq: Number(row.seq),
        url: String(row.url),
        code: String(row.code),
        error: String(row.error),
        atMs: Number(row.ended_ms),
      }));
    },
  } satisfies Partial<CrawlStore>;
}

/** The work at crawls, under leases. */
function workersPart({ sql, atOnce, held }: Access) {
  return {
    async lease(worker, nowMs, untilMs, limit) {
      // Asked all the time, and mostly there is nothing: then it waits for nobody's write.
      if (sql.free.get(nowMs, 1) === undefined) return [];
      return atOnce(() => {
        const crawls = (sql.free.all(nowMs, limit) as unknown as CrawlColumns[]).map(crawlOf);
        for (const { id } of crawls) {
          sql.lease.run(worker, untilMs, id);
          sql.reopen.run(id);
        }
        return crawls;
      });
    },
    renew: ({ id, worker }, untilMs) => atOnce(() => sql.renew.run(untilMs, id, worker).changes === 1),
    async release(worker) {
      await atOnce(() => (worker === null ? sql.releaseAll.run() : sql.release.run(worker)));
    },
    take: (lease, count) =>
      atOnce(() => {
        const crawl = held(lease);
        if (crawl === undefined) return null;
        let { charged } = crawl;
        const pages = [];
        for (const row of sql.waiting.all(lease.id, count)) {
          const paid = row.charged === 1;
          if (!paid && charged >= crawl.page_limit) continue;
          if (!paid) charged += 1;
          sql.take.run(lease.id, Number(row.seq));
          pages.push({ seq: Number(row.seq), url: String(row.url), depth: Number(row.depth), paid });
        }
        sql.charge.run(charged, lease.id);
        return pages;
      }),
    async putBack(lease, seq, { charged }) {
      await atOnce(() => {
        const crawl = held(lease);
        if (crawl === undefined) return;
        if (sql.putBack.run(charged ? 1 : 0, lease.id, seq).changes === 1 && !charged)
          sql.charge.run(crawl.charged - 1, lease.id);
      });
    },
    finish: (lease, page, found, hooks) =>
      atOnce(() => {
        const crawl = held(lease);
        if (crawl === undefined) return false;
        finishPage(sql, lease.id, crawl.ends, page, found, hooks);
        return true;
      }),
    async page(id, key) {
      const row = sql.page.get(id, key);
      return row === undefined ? null : JSON.parse(String(row.page));
    },
    add: (lease, found) =>
      atOnce(() => {
        if (held(lease) === undefined) return false;
        add(sql, lease.id, found);
        return true;
      }),
    begun: (lease, hooks) =>
      atOnce(() => {
        if (held(lease) === undefined) return false;
        sql.seeded.run(lease.id);
        queue(sql, lease.id, hooks);
        return true;
      }),
    end: (lease, end, hooks) =>
      atOnce(() => {
        if (held(lease) === undefined) return false;
        endCrawl(sql, lease.id, end);
        queue(sql, lease.id, hooks);
        return true;
      }),
  } satisfies Partial<CrawlStore>;
}

/** Work beside the pages: webhooks that are due, and crawls whose retention is over. */
function upkeepPart({ sql, atOnce }: Access) {
  return {
    async dueHooks(nowMs, untilMs, { limit, tenantMax, without }) {
      if (sql.isHookDue.get(nowMs) === undefined) return [];
      return atOnce(() => {
        const rows = sql.dueHooks.all(nowMs, JSON.stringify(without), tenantMax, limit);
        const hooks = (rows as unknown as HookColumns[]).map(hookOf);
        for (const { id, tries } of hooks) sql.hookLater.run(tries, untilMs, id);
        return hooks;
      });
    },
    async hookDone(id) {
      await atOnce(() => sql.hookDone.run(id));
    },
    async hookLater(id, tries, nextMs) {
      await atOnce(() => sql.hookLater.run(tries, nextMs, id));
    },
    prune: (nowMs) => atOnce(() => Number(sql.prune.run(nowMs).changes)),
  } satisfies Partial<CrawlStore>;
}

interface HeldColumns {
  page_limit: number;
  charged: number;
  ends: number;
}
