import { createExtractPool } from '../../src/tools/extract/extract-pool.ts';
import { judged, type Limit, type Row } from '../rows.ts';
import { densePage, largePage, smallPage } from './pages.ts';

const never = new AbortController().signal;
const rounds = 3;

/** How long a page takes to be read, in the threads that read them. */
export async function measureExtract(): Promise<Row[]> {
  const pool = createExtractPool({ threads: 1, killMs: 10_000, onTrouble: (message) => console.error(message) });

  async function readMs(html: string): Promise<number> {
    const order = {
      kind: 'html',
      body: new Uint8Array(Buffer.from(html)),
      url: 'https://example.org/a',
      contentType: 'text/html; charset=utf-8',
      way: 'document',
      options: { onlyMainContent: true, includeTags: null, excludeTags: null, rawHtml: false },
    } as const;
    const beganMs = performance.now();
    const outcome = await pool.extract('bench', order, 10_000, never);
    if (outcome.kind !== 'extracted' || !outcome.extracted.markdown.startsWith('# A river')) {
      throw new Error(`not read: ${outcome.kind}`);
    }
    return performance.now() - beganMs;
  }

  async function p50Ms(html: string, times: number): Promise<number> {
    const all: number[] = [];
    for (let at = 0; at < times; at++) all.push(await readMs(html));
    return all.toSorted((a, b) => a - b)[Math.floor(times / 2)]!;
  }

  async function row(what: string, html: string, times: number, limit: Limit): Promise<Row> {
    const medians: number[] = [];
    for (let round = 0; round < rounds; round++) medians.push(await p50Ms(html, times));
    return judged(`${what} (${Math.round(html.length / 1_000)} KB), p50`, medians, limit);
  }

  for (let at = 0; at < 30; at++) await readMs(smallPage);
  const rows = [
    await row('An article', smallPage, 41, { atMost: 30, unit: ' ms', digits: 1 }),
    await row('A page of a third text', largePage, 11, { atMost: 300, unit: ' ms', digits: 0 }),
    await row('A page of text alone', densePage, 7, { atMost: 300, unit: ' ms', digits: 0 }),
  ];
  await pool.close();
  return rows;
}
