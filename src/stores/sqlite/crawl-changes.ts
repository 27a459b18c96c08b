import type { CrawlEnd, FinishedPage, FoundUrls, NewHook } from '../../tools/crawl/crawl-store.ts';
import type { CrawlStatements } from './crawl-statements.ts';

// All within a transaction of the caller.

/** Rows that are known, too many, or too many of one shape are left out. */
export function add(sql: CrawlStatements, id: string, { urls, rowsMax, shapeMax }: FoundUrls): void {
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

export function queue(sql: CrawlStatements, id: string, hooks: readonly NewHook[]): void {
  for (const { id: hookId, body, createdMs } of hooks) sql.addHook.run(hookId, id, body, createdMs, createdMs);
}

export function endCrawl(sql: CrawlStatements, id: string, { status, error, atMs, expiresMs }: CrawlEnd): void {
  sql.end.run(status, error, atMs, expiresMs, id);
  sql.forgetOpen.run(id);
}

export function finishPage(
  sql: CrawlStatements,
  id: string,
  ends: number,
  page: FinishedPage,
  found: FoundUrls,
  hooks: readonly NewHook[],
): void {
  if (page.state === 'failed') {
    sql.fail.run(ends + 1, page.atMs, page.code, page.error, page.free ? 0 : 1, id, page.seq);
    sql.ended.run(1, 0, 1, page.free ? 1 : 0, id);
    return;
  }
  const copied = page.state === 'done' && sql.sameContent.get(id, page.contentHash) !== undefined;
  if (page.state === 'duplicate' || copied) {
    sql.duplicate.run(page.atMs, id, page.seq);
    sql.ended.run(0, 0, 0, 0, id);
    // The same texts have the same links.
    if (!copied) add(sql, id, found);
    return;
  }
  sql.done.run(ends + 1, page.atMs, page.contentHash, JSON.stringify(page.page), id, page.seq);
  sql.ended.run(1, 1, 0, 0, id);
  if (page.aliasKey !== null) {
    const dropped = Number(sql.dropAlias.run(id, page.aliasKey, page.seq).changes);
    if (dropped === 1) sql.ended.run(0, 0, 0, 0, id);
    else {
      const rows = Number(sql.rows.get(id)?.rows);
      if (sql.addAlias.run(id, rows + 1, page.aliasKey).changes === 1) sql.count.run(rows + 1, 0, id);
    }
  }
  add(sql, id, found);
  queue(sql, id, hooks);
}
