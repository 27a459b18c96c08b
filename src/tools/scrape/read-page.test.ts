import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure } from '../../kernel/failure.ts';
import type { ExtractOrder, ExtractOutcome } from '../extract/extract-order.ts';
import { extractPage as readInThread } from '../extract/extract-page.ts';
import type { ExtractPool } from '../extract/extract-pool.ts';
import type { PageOrder } from '../page-reader.ts';
import { type Came, extractPage } from './read-page.ts';

const prose = '<p>The river has carried barges since the fourteenth century, and the town grew at its bank.</p>'.repeat(
  8,
);
const page = `<html><body><nav><a href="/a">Elsewhere</a></nav><article><h1>River</h1>${prose}</article>
  <footer><a href="/b">Imprint of the site</a></footer></body></html>`;

const came: Came = {
  ...{ status: 200, url: 'https://example.org/', contentType: 'text/html', cut: false, etag: null, lastModified: null },
  ...{ body: Buffer.from(page), renderer: 'none', screenshot: null, warnings: [] },
};
const order = {
  ...{ tenant: 'a', url: came.url, paced: false, signal: new AbortController().signal },
  options: { formats: ['markdown'], onlyMainContent: true, includeTags: null, excludeTags: null },
} as unknown as PageOrder;

/** Reads a page where `ends` has no other end for the way that it is asked in. */
async function readWith(ends: Partial<Record<ExtractOrder['way'], ExtractOutcome>>) {
  const ways: string[] = [];
  const pool: ExtractPool = {
    async extract(_tenant, job) {
      ways.push(job.way);
      const end = ends[job.way];
      if (end !== undefined) return end;
      const reply = await readInThread({ ...job, id: 1 });
      return 'extracted' in reply ? { kind: 'extracted', extracted: reply.extracted } : assert.fail('unread');
    },
    close: async () => undefined,
  };
  const clock = { monotonicMs: () => 0, wallMs: () => 0 };
  const read = await extractPage({ pool, clock } as never, order, came, 30_000);
  return { read, ways };
}

test('F80 a deadline on a busy machine is an error, not the plain text of the page', async () => {
  const { read, ways } = await readWith({ document: { kind: 'late' } });
  assert.ok(isFailure(read) && read.kind === 'page-refused');
  assert.equal(read.code, 'page_timeout');
  assert.deepEqual(ways, ['document']);
});

test('F80 a page that takes too much of the processor comes as plain text with a warning, without its navigation', async () => {
  const why = 'it takes too long to read';
  const { read, ways } = await readWith({ document: { kind: 'unfit', why, killed: true } });
  assert.ok('extracted' in read);
  assert.deepEqual(ways, ['document', 'plain']);
  assert.deepEqual(read.warnings, [
    `The page is given as plain text, and may hold parts around its main content: ${why}.`,
  ]);
  assert.match(read.extracted.text, /fourteenth century/);
  assert.doesNotMatch(read.extracted.text, /Elsewhere|Imprint/);
});
