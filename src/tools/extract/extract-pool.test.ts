import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ExtractOrder } from './extract-order.ts';
import { createExtractPool, type ExtractPool } from './extract-pool.ts';

const pools: ExtractPool[] = [];
after(() => Promise.all(pools.map((pool) => pool.close())));

function newPool(parts: { killMs?: number } = {}): ExtractPool {
  const pool = createExtractPool({ threads: 1, killMs: parts.killMs ?? 60_000, onTrouble: () => undefined });
  pools.push(pool);
  return pool;
}

function order(html: string): Omit<ExtractOrder, 'id'> {
  return {
    kind: 'html',
    body: new Uint8Array(Buffer.from(html)),
    url: 'https://example.org/',
    contentType: 'text/html',
    way: 'document',
    wishes: { onlyMainContent: true, includeTags: null, excludeTags: null, rawHtml: false },
  };
}

const never = new AbortController().signal;
/** Takes any machine longer than the ms that the tests give it: a document of a hundred thousand paragraphs. */
const slow = `<article>${'<p>a, b, c</p>'.repeat(70_000)}</article>`;

test('pages are read one after another by a thread that stays', async () => {
  const pool = newPool();
  const outcomes = await Promise.all(['a', 'b', 'c'].map((word) => pool.extract(order(`<p>${word}`), 60_000, never)));
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.kind === 'extracted' ? outcome.extracted.text : outcome.kind)),
    ['a', 'b', 'c'],
  );
});

test('F59 a page that takes too long is killed with its thread, and the next one is read by another', async () => {
  const pool = newPool({ killMs: 1 });
  const killed = await pool.extract(order(slow), 60_000, never);
  assert.deepEqual(killed, { kind: 'unfit', why: 'it takes too long to read', killed: true });
  const patient = newPool();
  assert.equal((await patient.extract(order(slow), 1, never)).kind, 'unfit');
  assert.equal((await patient.extract(order('<p>next'), 60_000, never)).kind, 'extracted');
});

test('F59 a page that holds its thread for long leaves the next one another', async () => {
  const pool = newPool();
  const leaving = new AbortController();
  const ends: string[] = [];
  const told = (name: string) => () => void ends.push(name);
  const first = pool.extract(order(slow), 60_000, leaving.signal).then(told('slow'));
  await pool.extract(order('<p>next'), 60_000, never).then(told('next'));
  assert.deepEqual(ends, ['next']);
  leaving.abort();
  await first;
});

test('whoever waits for a page may leave, whether it is being read or not', async () => {
  const pool = newPool();
  const leaving = new AbortController();
  const both = [pool.extract(order(slow), 60_000, leaving.signal), pool.extract(order(slow), 60_000, leaving.signal)];
  leaving.abort();
  assert.deepEqual(await Promise.all(both), [{ kind: 'aborted' }, { kind: 'aborted' }]);
  assert.equal((await pool.extract(order('<p>next'), 60_000, never)).kind, 'extracted');
});

test('F59 who waits too long for a thread, behind pages that hang, is told so', async () => {
  // A millisecond: not even a thread has started by then.
  const pool = newPool({ killMs: 1 });
  assert.deepEqual(await pool.extract(order('<p>behind'), 0, never), { kind: 'busy' });
});

test('more pages than may wait are refused at once', async () => {
  const pool = newPool();
  const leaving = new AbortController();
  const many = Array.from({ length: 300 }, () => pool.extract(order('<p>a'), 60_000, leaving.signal));
  assert.equal((await many.at(-1)!).kind, 'busy');
  leaving.abort();
  await Promise.all(many);
});
