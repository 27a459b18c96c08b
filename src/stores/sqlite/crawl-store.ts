import type { CrawlEnd, CrawlStore, FoundUrls, Lease, NewHook } from '../../tools/crawl/crawl-store.ts';
import { type CrawlColumns, crawlOf, type HookColumns, hookOf } from '../crawl-rows.ts';
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

  /** Within a transaction. Rows that are known, too many, or too many of one shape are left out. */
  function add(id: string, { urls, rowsMax, shapeMax }: FoundUrls): void {
    let rows = Number(sql.rows.get(id)?.rows);
    let added = 0;
    for (const { key, url, depth, shape } of urls) {
      if (rows >= rowsMax) break;
      if (shape !== null && Number(sql.ofShape.get(id, shape)?.count) >= shapeMax) continue;
      if (sql.addPage.run(id, rows + 1, key, url, depth, shape).changes === 0) continue;
      rows += 1;
      added += 1;
    }
    if (added > 0) sql.count.run(rows, added, id);
  }

  function queue(id: string, hooks: readonly NewHook[]): void {
    for (const { id: hookId, body, createdMs } of hooks) sql.addHook.run(hookId, id, body, createdMs, createdMs);
  }

  function endCrawl(id: string, { status, error, atMs, expiresMs }: CrawlEnd): void {
    sql.end.run(status, error, atMs, expiresMs, id);
    sql.forgetOpen.run(id);
  }

  return {
    create: (crawl, seed, { runningMax, keptMax }) =>
      durably(() => {
        if (Number(sql.running.get(crawl.tenant)?.count) >= runningMax) return 'full';
        sql.removeOldest.run(crawl.tenant, keptMax - 1);
        const { id, tenant, account, keyId, url, options, createdMs } = crawl;
        sql.create.run(id, tenant, account, keyId, url, JSON.stringify(options), options.limit, createdMs);
        add(id, { urls: [seed], rowsMax: 1, shapeMax: 1 });
        return 'created';
      }),
    async find(tenant, id) {
      return found(tenant, id);
    },
    async list(tenant, which, before, limit) {
      const rows = (which === 'running' ? sql.listRunning : sql.list).all(tenant, before ?? '\u{10ffff}', limit);
      return (rows as unknown as CrawlColumns[]).map(crawlOf);
    },
    cancel: (tenant, id, end) =>
      durably(() => {
        if (found(tenant, id)?.status === 'scraping') endCrawl(id, end);
        return found(tenant, id);
      }),

    async lease(worker, nowMs, untilMs, limit) {
      // Asked all the time, and mostly nothing is there: then nobody's write is waited for.
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
    finish: (lease, page, foundUrls, hooks) =>
      atOnce(() => {
        const crawl = held(lease);
        if (crawl === undefined) return false;
        const { id } = lease;
        if (page.state === 'failed') {
          sql.fail.run(crawl.ends + 1, page.atMs, page.code, page.error, page.free ? 0 : 1, id, page.seq);
          sql.ended.run(1, 0, 1, page.free ? 1 : 0, id);
          return true;
        }
        const copied = page.state === 'done' && sql.sameContent.get(id, page.contentHash) !== undefined;
        if (page.state === 'duplicate' || copied) {
          sql.duplicate.run(page.atMs, id, page.seq);
          sql.ended.run(0, 0, 0, 0, id);
          // Of the same words are the same links.
          if (!copied) add(id, foundUrls);
          return true;
        }
        sql.done.run(crawl.ends + 1, page.atMs, page.contentHash, JSON.stringify(page.page), id, page.seq);
        sql.ended.run(1, 1, 0, 0, id);
        if (page.aliasKey !== null) {
          const dropped = Number(sql.dropAlias.run(id, page.aliasKey, page.seq).changes);
          if (dropped === 1) sql.ended.run(0, 0, 0, 0, id);
          else {
            const rows = Number(sql.rows.get(id)?.rows);
            if (sql.addAlias.run(id, rows + 1, page.aliasKey).changes === 1) sql.count.run(rows + 1, 0, id);
          }
        }
        add(id, foundUrls);
        queue(id, hooks);
        return true;
      }),
    async page(id, key) {
      const row = sql.page.get(id, key);
      return row === undefined ? null : JSON.parse(String(row.page));
    },
    add: (lease, foundUrls) =>
      atOnce(() => {
        if (held(lease) === undefined) return false;
        add(lease.id, foundUrls);
        return true;
      }),
    begun: (lease, hooks) =>
      atOnce(() => {
        if (held(lease) === undefined) return false;
        sql.seeded.run(lease.id);
        queue(lease.id, hooks);
        return true;
      }),
    end: (lease, end, hooks) =>
      atOnce(() => {
        if (held(lease) === undefined) return false;
        endCrawl(lease.id, end);
        queue(lease.id, hooks);
        return true;
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

    async dueHooks(nowMs, untilMs, limit) {
      if (sql.dueHooks.get(nowMs, 1) === undefined) return [];
      return atOnce(() => {
        const hooks = (sql.dueHooks.all(nowMs, limit) as unknown as HookColumns[]).map(hookOf);
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
    async close() {
      database.close();
    },
  };
}

interface HeldColumns {
  page_limit: number;
  charged: number;
  ends: number;
}
