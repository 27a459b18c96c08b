import type { Lease } from '../../kernel/leased-jobs.ts';
import type { CrawlError, CrawlStore, TakenPage } from '../../tools/crawl/crawl-store.ts';
import { type CrawlColumns, crawlOf, type HookColumns, hookOf } from '../crawl-rows.ts';
import { add, endCrawl, finishPage, queue, withoutNul } from './crawl-changes.ts';
import { held, insertCrawl, leaseFree, leaseHooks, removeOldest, running } from './crawl-statements.ts';
import type { Database, Run } from './database.ts';
import { unavailable } from './unavailable.ts';

export function createPostgresCrawlStore({ rest }: Pick<Database, 'rest'>): Omit<CrawlStore, 'close'> {
  const access = accessTo(rest);
  return { ...callersPart(access), ...workersPart(access), ...upkeepPart(access) };
}

type Access = ReturnType<typeof accessTo>;

function accessTo(rest: Database['rest']) {
  const changing = <T>(work: (run: Run) => Promise<T>) => unavailable(rest.transaction('write', work));
  const asking = <R>(text: string, values: readonly unknown[]) => unavailable(rest.run<R>(text, values));
  /** Work under a lease: `lost` without it. Its crawl is locked until the end. */
  const holding = <T>(lease: Lease, lost: T, work: (run: Run, crawl: HeldColumns) => Promise<T>) =>
    changing(async (run) => {
      const { rows } = await run<HeldColumns>(held, [lease.id, lease.worker]);
      return rows[0] === undefined ? lost : work(run, rows[0]);
    });
  return { changing, asking, holding, run: rest.run };
}

/** Calls for callers. */
function callersPart({ changing, asking, run: direct }: Access) {
  return {
    create: (crawl, seeds, { runningMax, keptMax }) =>
      changing(async (run) => {
        await run('SELECT pg_advisory_xact_lock($1, hashtext($2))', [tenantLock, crawl.tenant]);
        const { rows } = await run<{ count: number }>(running, [crawl.tenant]);
        if (rows[0]!.count >= runningMax) return 'full';
        await run(removeOldest, [crawl.tenant, keptMax - 1]);
        const { id, tenant, account, keyId, url, options, createdMs } = crawl;
        const text = JSON.stringify(options);
        await run(insertCrawl, [id, tenant, account, keyId, url, text, options.limit, createdMs]);
        await add(run, id, { urls: seeds, rowsMax: seeds.length, shapeMax: 1 });
        return 'created';
      }),
    find: (tenant, id) => unavailable(find(direct, tenant, id)),
    async list(tenant, { kind, which, before, limit }) {
      const { rows } = await asking<CrawlColumns>(
        `SELECT * FROM culvert.crawl WHERE tenant = $1 AND starts_with(id, $4) AND ($2::text IS NULL OR id < $2)
           ${which === 'running' ? `AND status = 'scraping'` : ''} ORDER BY id DESC LIMIT $3`,
        [tenant, before, limit, `${kind}_`],
      );
      return rows.map(crawlOf);
    },
    cancel: (tenant, id, end) =>
      changing(async (run) => {
        const { rows } = await run(
          `SELECT FROM culvert.crawl WHERE tenant = $1 AND id = $2 AND status = 'scraping' FOR UPDATE`,
          [tenant, id],
        );
        if (rows.length > 0) await endCrawl(run, id, end);
        return find(run, tenant, id);
      }),

    async results(id, after, limit, charsMax) {
      // The database adds up, so that a too large amount is not even sent.
      const { rows } = await asking<{ ended: number; page: string }>(
        `SELECT ended, page FROM (
           SELECT ended, page, sum(length(page)) OVER (ORDER BY ended) AS chars, row_number() OVER (ORDER BY ended) AS at
           FROM (SELECT ended, page FROM culvert.crawl_page WHERE crawl = $1 AND ended > $2 AND state = 'done'
                 ORDER BY ended LIMIT $3) AS next
         ) AS summed WHERE chars <= $4 OR at = 1 ORDER BY ended`,
        [id, after, limit, charsMax],
      );
      return rows.map(({ ended, page }) => ({ at: ended, page: JSON.parse(page) }));
    },
    async errors(id, limit) {
      const { rows } = await asking<Omit<CrawlError, 'atMs'> & { ended_ms: number }>(
        `SELECT seq, url, code, error, ended_ms FROM culvert.crawl_page
         WHERE crawl = $1 AND ended IS NOT NULL AND state = 'failed' ORDER BY ended LIMIT $2`,
        [id, limit],
      );
      return rows.map(({ ended_ms, ...row }) => ({ ...row, atMs: ended_ms }));
    },
  } satisfies Partial<CrawlStore>;
}

/** The work at crawls, under leases. */
function workersPart({ changing, asking, holding }: Access) {
  return {
    lease: (worker, nowMs, untilMs, limit) =>
      changing(async (run) => {
        const { rows } = await run<CrawlColumns>(leaseFree, [worker, nowMs, untilMs, limit]);
        if (rows.length === 0) return [];
        const crawls = rows.map(crawlOf).sort((a, b) => a.createdMs - b.createdMs || (a.id < b.id ? -1 : 1));
        await run(`UPDATE culvert.crawl_page SET state = 'waiting' WHERE crawl = ANY ($1) AND state = 'fetching'`, [
          crawls.map(({ id }) => id),
        ]);
        return crawls;
      }),
    async renew({ id, worker }, untilMs) {
      const { changes } = await asking(
        `UPDATE culvert.crawl SET lease_until_ms = $3 WHERE id = $1 AND worker = $2 AND status = 'scraping'`,
        [id, worker, untilMs],
      );
      return changes === 1;
    },
    async release(worker) {
      const which = worker === null ? `status = 'scraping' AND $1::text IS NULL` : 'worker = $1';
      await asking(`UPDATE culvert.crawl SET worker = NULL, lease_until_ms = 0 WHERE ${which}`, [worker]);
    },
    take: (lease, count) =>
      holding(lease, null, async (run, crawl) => {
        const { rows } = await run<{ seq: number; url: string; depth: number; charged: number }>(
          `SELECT seq, url, depth, charged FROM culvert.crawl_page WHERE crawl = $1 AND state = 'waiting'
           ORDER BY seq LIMIT $2`,
          [lease.id, count],
        );
        let { charged } = crawl;
        const pages: TakenPage[] = [];
        for (const { seq, url, depth, charged: paid } of rows) {
          if (paid === 0 && charged >= crawl.page_limit) continue;
          if (paid === 0) charged += 1;
          pages.push({ seq, url, depth, paid: paid === 1 });
        }
        await run(`UPDATE culvert.crawl_page SET state = 'fetching', charged = 1 WHERE crawl = $1 AND seq = ANY ($2)`, [
          lease.id,
          pages.map(({ seq }) => seq),
        ]);
        await run('UPDATE culvert.crawl SET charged = $2 WHERE id = $1', [lease.id, charged]);
        return pages;
      }),
    async putBack(lease, seq, { charged }) {
      await holding(lease, undefined, async (run) => {
        const { changes } = await run(
          `UPDATE culvert.crawl_page SET state = 'waiting', charged = $3
           WHERE crawl = $1 AND seq = $2 AND state = 'fetching'`,
          [lease.id, seq, charged ? 1 : 0],
        );
        if (changes === 1 && !charged)
          await run('UPDATE culvert.crawl SET charged = charged - 1 WHERE id = $1', [lease.id]);
      });
    },
    finish: (lease, page, found, hooks) =>
      holding(lease, false, async (run, crawl) => {
        await finishPage(run, lease.id, crawl.ends, page, found, hooks);
        return true;
      }),
    async page(id, key) {
      const { rows } = await asking<{ page: string }>(
        `SELECT page FROM culvert.crawl_page
         WHERE crawl = $1 AND key_hash = sha256(convert_to($2, 'UTF8')) AND state = 'done'`,
        [id, withoutNul(key)],
      );
      return rows[0] === undefined ? null : JSON.parse(rows[0].page);
    },
    add: (lease, found) =>
      holding(lease, false, async (run) => {
        await add(run, lease.id, found);
        return true;
      }),
    begun: (lease, hooks) =>
      holding(lease, false, async (run) => {
        await run('UPDATE culvert.crawl SET seeded = 1 WHERE id = $1', [lease.id]);
        await queue(run, lease.id, hooks);
        return true;
      }),
    end: (lease, end, hooks) =>
      holding(lease, false, async (run) => {
        await endCrawl(run, lease.id, end);
        await queue(run, lease.id, hooks);
        return true;
      }),
  } satisfies Partial<CrawlStore>;
}

/** Work beside the pages: webhooks that are due, and crawls whose retention is over. */
function upkeepPart({ asking }: Access) {
  return {
    async dueHooks(nowMs, untilMs, { limit, tenantMax, without }) {
      const { rows } = await asking<HookColumns>(leaseHooks, [nowMs, untilMs, tenantMax, without, limit]);
      const hooks = rows.map(hookOf);
      return hooks.sort((a, b) => a.createdMs - b.createdMs || (a.id < b.id ? -1 : 1));
    },
    async hookDone(id) {
      await asking('DELETE FROM culvert.crawl_hook WHERE id = $1', [id]);
    },
    async hookLater(id, tries, nextMs) {
      await asking('UPDATE culvert.crawl_hook SET tries = $2, next_ms = $3 WHERE id = $1', [id, tries, nextMs]);
    },
    async prune(nowMs) {
      await asking('DELETE FROM culvert.crawl_turn WHERE began_ms < $1', [nowMs - turnKeptMs]);
      const { changes } = await asking(
        `DELETE FROM culvert.crawl WHERE id IN
           (SELECT id FROM culvert.crawl WHERE expires_ms <= $1 ORDER BY expires_ms LIMIT 4)`,
        [nowMs],
      );
      return changes;
    },
  } satisfies Partial<CrawlStore>;
}

interface HeldColumns {
  page_limit: number;
  charged: number;
  ends: number;
}

/** Longer than any delay between two pages of a host. */
const turnKeptMs = 86_400_000;

/** First half of an advisory lock: crawls of one tenant are made one after another. */
const tenantLock = 0x63_76_77;

async function find(run: Run, tenant: string, id: string) {
  const { rows } = await run<CrawlColumns>('SELECT * FROM culvert.crawl WHERE tenant = $1 AND id = $2', [tenant, id]);
  return rows[0] === undefined ? null : crawlOf(rows[0]);
}
