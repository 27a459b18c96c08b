import type { CrawlEnd, FinishedPage, FoundUrls, NewHook } from '../../tools/crawl/crawl-store.ts';
import { addAlias, addPages, countEnd, failPage } from './crawl-statements.ts';
import type { Run } from './database.ts';

/** Rows that are known, too many, or too many of one shape are left out. */
export async function add(run: Run, id: string, { urls, rowsMax, shapeMax }: FoundUrls): Promise<void> {
  if (urls.length === 0) return;
  const column = <K extends keyof (typeof urls)[number]>(name: K) => urls.map((url) => url[name]);
  await run(addPages, [
    id,
    column('key').map(withoutNul),
    column('url').map(withoutNul),
    column('depth'),
    column('shape').map((shape) => (shape === null ? null : withoutNul(shape))),
    rowsMax,
    shapeMax,
  ]);
}

export function withoutNul(text: string): string {
  return text.replaceAll('\0', '\ufffd');
}

export async function queue(run: Run, crawl: string, hooks: readonly NewHook[]): Promise<void> {
  for (const { id, body, createdMs } of hooks)
    await run('INSERT INTO culvert.crawl_hook VALUES ($1, $2, $3, $4, 0, $4)', [id, crawl, body, createdMs]);
}

export async function endCrawl(run: Run, id: string, { status, error, atMs, expiresMs }: CrawlEnd): Promise<void> {
  await run(
    `UPDATE culvert.crawl SET status = $2, error = $3, ended_ms = $4, expires_ms = $5, waiting = 0, worker = NULL
     WHERE id = $1`,
    [id, status, error, atMs, expiresMs],
  );
  await run(`DELETE FROM culvert.crawl_page WHERE crawl = $1 AND state IN ('waiting', 'fetching')`, [id]);
}

async function isThere(run: Run, id: string, contentHash: string): Promise<boolean> {
  const { rows } = await run('SELECT FROM culvert.crawl_page WHERE crawl = $1 AND content_hash = $2 LIMIT 1', [
    id,
    contentHash,
  ]);
  return rows.length > 0;
}

export async function finishPage(
  run: Run,
  id: string,
  ends: number,
  page: FinishedPage,
  found: FoundUrls,
  hooks: readonly NewHook[],
): Promise<void> {
  if (page.state === 'failed') {
    const { seq, atMs, code, error, free } = page;
    await run(failPage, [id, seq, ends + 1, atMs, code, error, free ? 0 : 1]);
    return void (await run(countEnd, [id, 1, 0, 1, free ? 1 : 0]));
  }
  const copied = page.state === 'done' && (await isThere(run, id, page.contentHash));
  if (page.state === 'duplicate' || copied) {
    await run(`UPDATE culvert.crawl_page SET state = 'duplicate', ended_ms = $3 WHERE crawl = $1 AND seq = $2`, [
      id,
      page.seq,
      page.atMs,
    ]);
    await run(countEnd, [id, 0, 0, 0, 0]);
    // The same texts have the same links.
    if (!copied) await add(run, id, found);
    return;
  }
  await run(
    `UPDATE culvert.crawl_page SET state = 'done', ended = $3, ended_ms = $4, content_hash = $5, page = $6
     WHERE crawl = $1 AND seq = $2`,
    [id, page.seq, ends + 1, page.atMs, page.contentHash, JSON.stringify(page.page)],
  );
  await run(countEnd, [id, 1, 1, 0, 0]);
  if (page.aliasKey !== null) {
    const { changes } = await run(
      `UPDATE culvert.crawl_page SET state = 'alias' WHERE crawl = $1 AND key_hash = sha256(convert_to($2, 'UTF8'))
         AND seq <> $3 AND state = 'waiting'`,
      [id, page.aliasKey, page.seq],
    );
    if (changes === 1) await run(countEnd, [id, 0, 0, 0, 0]);
    else await run(addAlias, [id, page.aliasKey]);
  }
  await add(run, id, found);
  await queue(run, id, hooks);
}
