import type { Database } from './database.ts';

/**
 * Written out even where one state would do: otherwise SQLite does not see that the partial index on open pages covers
 * it.
 */
const open = `state IN ('waiting', 'fetching')`;

export type CrawlStatements = ReturnType<typeof crawlStatements>;

/** Prepared statements on `crawl.db`. */
export function crawlStatements(database: Pick<Database, 'prepare'>) {
  const prepare = (text: string) => database.prepare(text);
  return {
    create: prepare(
      `INSERT INTO crawl VALUES (?, ?, ?, ?, ?, ?, 'scraping', NULL, ?, 0, 0, 0, 0, 0, 0, 0, NULL, 0, ?, NULL, NULL)`,
    ),
    running: prepare(`SELECT count(*) AS count FROM crawl WHERE tenant = ? AND status = 'scraping'`),
    removeOldest: prepare(
      `DELETE FROM crawl WHERE id IN
         (SELECT id FROM crawl WHERE tenant = ? AND status <> 'scraping'
          ORDER BY created_ms DESC, id DESC LIMIT -1 OFFSET ?)`,
    ),
    find: prepare('SELECT * FROM crawl WHERE tenant = ? AND id = ?'),
    list: prepare('SELECT * FROM crawl WHERE tenant = ? AND id GLOB ? AND id < ? ORDER BY id DESC LIMIT ?'),
    listRunning: prepare(
      `SELECT * FROM crawl WHERE tenant = ? AND id GLOB ? AND id < ? AND status = 'scraping' ORDER BY id DESC LIMIT ?`,
    ),
    /** After it nothing is held: the lease is over with the crawl. */
    end: prepare(
      `UPDATE crawl SET status = ?, error = ?, ended_ms = ?, expires_ms = ?, waiting = 0, worker = NULL WHERE id = ?`,
    ),
    forgetOpen: prepare(`DELETE FROM crawl_page WHERE crawl = ? AND ${open}`),

    /** Round the tenants: each one's first that nobody works at, less those of it that somebody does. */
    free: prepare(
      `SELECT * FROM crawl AS one WHERE status = 'scraping' AND lease_until_ms <= ?1
       ORDER BY (SELECT count(*) FROM crawl AS other WHERE other.tenant = one.tenant AND other.status = 'scraping'
         AND (other.lease_until_ms > ?1 OR (other.created_ms, other.id) < (one.created_ms, one.id))), created_ms, id
       LIMIT ?2`,
    ),
    lease: prepare('UPDATE crawl SET worker = ?, lease_until_ms = ? WHERE id = ?'),
    reopen: prepare(`UPDATE crawl_page SET state = 'waiting' WHERE crawl = ? AND state = 'fetching' AND ${open}`),
    renew: prepare(`UPDATE crawl SET lease_until_ms = ? WHERE id = ? AND worker = ? AND status = 'scraping'`),
    release: prepare(`UPDATE crawl SET worker = NULL, lease_until_ms = 0 WHERE worker = ?`),
    releaseAll: prepare(`UPDATE crawl SET worker = NULL, lease_until_ms = 0 WHERE status = 'scraping'`),
    held: prepare(`SELECT page_limit, charged, ends FROM crawl WHERE id = ? AND worker = ? AND status = 'scraping'`),

    waiting: prepare(
      `SELECT seq, url, depth, charged FROM crawl_page WHERE crawl = ? AND state = 'waiting' AND ${open}
       ORDER BY seq LIMIT ?`,
    ),
    take: prepare(`UPDATE crawl_page SET state = 'fetching', charged = 1 WHERE crawl = ? AND seq = ?`),
    charge: prepare('UPDATE crawl SET charged = ? WHERE id = ?'),
    putBack: prepare(
      `UPDATE crawl_page SET state = 'waiting', charged = ? WHERE crawl = ? AND seq = ? AND state = 'fetching'`,
    ),

    rows: prepare('SELECT rows FROM crawl WHERE id = ?'),
    ofShape: prepare('SELECT count(*) AS count FROM crawl_page WHERE crawl = ? AND shape = ?'),
    addPage: prepare(
      `INSERT INTO crawl_page (crawl, seq, key, url, depth, shape, state, charged)
       VALUES (?, ?, ?, ?, ?, ?, 'waiting', 0) ON CONFLICT DO NOTHING`,
    ),
    count: prepare('UPDATE crawl SET rows = ?, waiting = waiting + ? WHERE id = ?'),
    addAlias: prepare(
      `INSERT INTO crawl_page (crawl, seq, key, url, depth, state, charged)
       VALUES (?1, ?2, ?3, '', 0, 'alias', 0) ON CONFLICT DO NOTHING`,
    ),
    dropAlias: prepare(
      `UPDATE crawl_page SET state = 'alias' WHERE crawl = ? AND key = ? AND seq <> ? AND state = 'waiting'`,
    ),
    seeded: prepare('UPDATE crawl SET seeded = 1 WHERE id = ?'),

    page: prepare(`SELECT page FROM crawl_page WHERE crawl = ? AND key = ? AND state = 'done'`),
    sameContent: prepare('SELECT 1 FROM crawl_page WHERE crawl = ? AND content_hash = ? LIMIT 1'),
    done: prepare(
      `UPDATE crawl_page SET state = 'done', ended = ?, ended_ms = ?, content_hash = ?, page = ?
       WHERE crawl = ? AND seq = ?`,
    ),
    duplicate: prepare(`UPDATE crawl_page SET state = 'duplicate', ended_ms = ? WHERE crawl = ? AND seq = ?`),
    fail: prepare(
      `UPDATE crawl_page SET state = 'failed', ended = ?, ended_ms = ?, code = ?, error = ?, charged = ?
       WHERE crawl = ? AND seq = ?`,
    ),
    ended: prepare(
      `UPDATE crawl SET ends = ends + ?, done = done + ?, failed = failed + ?, waiting = waiting - 1,
         charged = charged - ? WHERE id = ?`,
    ),
    results: prepare(
      `SELECT ended, page FROM crawl_page WHERE crawl = ? AND ended > ? AND state = 'done' ORDER BY ended LIMIT ?`,
    ),
    errors: prepare(
      `SELECT seq, url, code, error, ended_ms FROM crawl_page
       WHERE crawl = ? AND ended IS NOT NULL AND state = 'failed' ORDER BY ended LIMIT ?`,
    ),

    addHook: prepare('INSERT INTO crawl_hook VALUES (?, ?, ?, ?, 0, ?)'),
    dueHooks: prepare(
      `SELECT * FROM (
         SELECT h.*, c.options, c.tenant,
           row_number() OVER (PARTITION BY c.tenant ORDER BY h.created_ms, h.id) AS place
         FROM crawl_hook h JOIN crawl c ON c.id = h.crawl
         WHERE next_ms <= ? AND c.tenant NOT IN (SELECT value FROM json_each(?))
       ) WHERE place <= ? ORDER BY place, created_ms, id LIMIT ?`,
    ),
    isHookDue: prepare('SELECT 1 FROM crawl_hook WHERE next_ms <= ? LIMIT 1'),
    hookLater: prepare('UPDATE crawl_hook SET tries = ?, next_ms = ? WHERE id = ?'),
    hookDone: prepare('DELETE FROM crawl_hook WHERE id = ?'),
    /** A few at a time: their pages go with them. */
    prune: prepare(
      `DELETE FROM crawl WHERE id IN (SELECT id FROM crawl WHERE expires_ms <= ? ORDER BY expires_ms LIMIT 4)`,
    ),
  };
}
