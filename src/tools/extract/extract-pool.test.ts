// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ExtractOrder } from './extract-order.ts';
import { createExtractPool, type ExtractPool } from './extract-pool.ts';

const newPool = (killMs: number) => createExtractPool({ threads: 1, killMs, onTrouble: () => undefined });
/** For all tests that kill no page by time: each leaves it without work. A thread loads two extractors first. */
const pool = newPool(60_000);
const hasty: ExtractPool[] = [];
after(() => Promise.all([pool, ...hasty].map((one) => one.close())));

/** A pool that gives a page a millisecond of the processor. */
function hastyPool(): ExtractPool {
  const made = newPool(1);
  hasty.push(made);
  return made;
}

function order(html: string): Omit<ExtractOrder, 'id'> {
  return {
    kind: 'html',
    body: new Uint8Array(Buffer.from(html)),
    url: 'https://example.org/',
    contentType: 'text/html',
    way: 'document',
    options: { onlyMainContent: true, includeTags: null, excludeTags: null, rawHtml: false },
  };
}

const kindOf = async (outcome: ReturnType<ExtractPool['extract']>) => (await outcome).kind;
const never = new AbortController().signal;
/** Takes any machine longer than the ms that the tests give it: a document of a hundred thousand paragraphs. */
const slow = `<article>${'<p>a, b, c</p>'.repeat(70_000)}</article>`;

test('pages are read one after another by a thread that stays', async () => {
  const outcomes = await Promise.all(
    ['a', 'b', 'c'].map((word) => pool.extract('a', order(`<p>${word}`), 60_000, never)),
  );
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.kind === 'extracted' ? outcome.extracted.text : outcome.kind)),
    ['a', 'b', 'c'],
  );
});

test('F59 a page that takes too long is killed with its thread, and the next one is read by another', async () => {
  const killed = await hastyPool().extract('a', order(slow), 60_000, never);
  assert.deepEqual(killed, { kind: 'unfit', why: 'it takes too long to read', killed: true });
  assert.deepEqual(await pool.extract('a', order(slow), 1, never), { kind: 'late' });
  assert.equal((await pool.extract('a', order('<p>next'), 60_000, never)).kind, 'extracted');
});

test('F80 a thread that gets nothing of a busy machine is waited for, and its page comes whole', async () => {
  const page = `<nav><a href="/a">Elsewhere</a></nav><article><h1>Title</h1>${'<p>A sentence of the article.</p>'.repeat(9)}</article>`;
  let looks = 0;
  const starved = createExtractPool({
    ...{ threads: 1, killMs: 1, onTrouble: () => undefined },
    async cpuMsOf() {
      looks += 1;
      return 0;
    },
  });
  hasty.push(starved);
  // By the clock each takes far longer than its millisecond: it is looked at, and left alone.
  const long = `<article>${'<p>a, b, c</p>'.repeat(3_000)}</article>`;
  for (const html of [long, page]) {
    const outcome = await starved.extract('a', order(html), 600_000, never);
    assert.equal(outcome.kind, 'extracted');
    if (html === page && outcome.kind === 'extracted') assert.doesNotMatch(outcome.extracted.text, /Elsewhere/);
  }
  assert.ok(looks > 2, `${looks} looks`);
});

test('F80 a page whose time is over is late: nothing of it is given, and nothing is said about it', async () => {
  const starved = createExtractPool({
    ...{ threads: 1, killMs: 60_000, onTrouble: () => undefined },
    cpuMsOf: async () => 0,
  });
  hasty.push(starved);
  await starved.extract('a', order('<p>first'), 60_000, never);
  assert.deepEqual(await starved.extract('a', order(slow), 50, never), { kind: 'late' });
});

test('F80 the time of a page that waits for a thread is part of its own', async () => {
  const leaving = new AbortController();
  const busy = createExtractPool({ threads: 1, killMs: 60_000, onTrouble: () => undefined, cpuMsOf: async () => 0 });
  hasty.push(busy);
  await busy.extract('a', order('<p>first'), 60_000, never);
  const ahead = Array.from({ length: 8 }, () => busy.extract('a', order(slow), 60_000, leaving.signal));
  const before = performance.now();
  const outcome = await busy.extract('a', order('<p>behind'), 300, never);
  assert.equal(outcome.kind, 'busy');
  // With the time that a page may take it would have been a minute.
  assert.ok(performance.now() - before < 30_000);
  leaving.abort();
  await Promise.all(ahead);
});

test('F59 a page that holds its thread for long leaves the next one another', async () => {
  const leaving = new AbortController();
  const ends: string[] = [];
  const onEnd = (name: string) => () => void ends.push(name);
  const first = pool.extract('a', order(slow), 60_000, leaving.signal).then(onEnd('slow'));
  await pool.extract('a', order('<p>next'), 60_000, never).then(onEnd('next'));
  assert.deepEqual(ends, ['next']);
  leaving.abort();
  await first;
});

test('S30 hard pages of one tenant leave a thread to the pages of another', async () => {
  const leaving = new AbortController();
  const hard = Array.from({ length: 16 }, () => pool.extract('a', order(slow), 60_000, leaving.signal));
  let hardDone = 0;
  for (const one of hard) void one.then(() => (hardDone += 1));
  for (const word of ['one', 'two', 'three'])
    assert.equal((await pool.extract('b', order(`<p>${word}`), 60_000, never)).kind, 'extracted');
  assert.equal(hardDone, 0);
  leaving.abort();
  await Promise.all(hard);
});

test('whoever waits for a page may leave, whether it is being read or not', async () => {
  const leaving = new AbortController();
  const both = [
    pool.extract('a', order(slow), 60_000, leaving.signal),
    pool.extract('a', order(slow), 60_000, leaving.signal),
  ];
  leaving.abort();
  assert.deepEqual(await Promise.all(both.map(kindOf)), ['aborted', 'aborted']);
  assert.equal((await pool.extract('a', order('<p>next'), 60_000, never)).kind, 'extracted');
});

test('F59 who waits too long for a thread, behind pages that hang, is told so', async () => {
  // A millisecond: not even a thread has started by then.
  const outcome = await hastyPool().extract('a', order('<p>behind'), 0, never);
  assert.equal(outcome.kind === 'busy' && outcome.failure.kind, 'overloaded');
});

test('more pages than may wait are refused at once', async () => {
  const leaving = new AbortController();
  const many = Array.from({ length: 300 }, () => pool.extract('a', order('<p>a'), 60_000, leaving.signal));
  assert.equal((await many.at(-1)!).kind, 'busy');
  leaving.abort();
  await Promise.all(many);
});
