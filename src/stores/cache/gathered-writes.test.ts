import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { type GatheredEntry, GatheredWrites } from './gathered-writes.ts';

const fields = { atMs: 1, expiresAtMs: 2, keyId: 'k', model: 'm', tag: null };
const head = Buffer.of(7);

/** Bodies by digest, as a thread would see them when it gets to them. */
function collector() {
  const seen = new Map<string, Buffer>();
  const sizes: number[] = [];
  const gate = { opens: Promise.resolve() };
  const writes = new GatheredWrites(async (entries: readonly GatheredEntry[], shared) => {
    await gate.opens;
    sizes.push(entries.length);
    for (const { digest, body } of entries) {
      const bytes = body instanceof Uint8Array ? body : new Uint8Array(shared, body.start, body.end - body.start);
      seen.set(digest, Buffer.from(bytes));
    }
  });
  const add = (digest: string, body: Buffer) =>
    writes.add({ scope: 'key a', digest }, { ...fields, body }, 'open', { head, rest: body });
  return { writes, add, seen, sizes, gate };
}

test('bodies arrive whole, though their buffers change at once, they do not fit, and the memory is used again', async () => {
  const { add, seen, sizes } = collector();
  const expected = new Map<string, Buffer>();
  for (let round = 0; round < 4; round += 1) {
    const done: Promise<void>[] = [];
    for (const [at, bytes] of [3_000, 0, 700_000, 600_000, 12, 2_000_000, 5].entries()) {
      const body = randomBytes(bytes);
      expected.set(`${round}.${at}`, Buffer.concat([head, body]));
      done.push(add(`${round}.${at}`, body));
      body.fill(0);
    }
    await Promise.all(done);
  }
  assert.ok(sizes.length >= 4 && sizes.length <= 8, String(sizes));
  for (const [digest, bytes] of expected) assert.ok(seen.get(digest)?.equals(bytes), digest);
});

test('an entry is found, as a copy, until it is written, also while another write is under way', async () => {
  const { writes, add, seen, gate } = collector();
  const opens = Promise.withResolvers<void>();
  gate.opens = opens.promise;
  const first = add('one', Buffer.from('first'));
  // It is with the thread.
  const settling = writes.settled();
  const second = add('two', Buffer.from('second'));
  const newer = add('one', Buffer.from('newer'));
  const bodyOf = (digest: string) => writes.find('key a', digest)?.body.subarray(1).toString();
  assert.deepEqual([bodyOf('one'), bodyOf('two'), bodyOf('three')], ['newer', 'second', undefined]);
  writes.find('key a', 'two')?.body.fill(0);
  assert.equal(writes.find('key b', 'two'), null);
  opens.resolve();
  await Promise.all([first, second, newer, settling]);
  assert.equal(seen.get('two')?.toString(), '\u0007second');
  assert.equal(seen.get('one')?.toString(), '\u0007newer');
  assert.deepEqual([bodyOf('one'), bodyOf('two')], [undefined, undefined]);
});

test('a write that fails says so to each of its entries, and later ones are written', async () => {
  let fails = true;
  const writes = new GatheredWrites(async () => {
    if (fails) throw new Error('the disk is full');
  });
  const add = () => writes.add({ scope: 's', digest: 'd' }, { ...fields, body: head }, 'open', { head, rest: head });
  const failed = await Promise.allSettled([add(), add()]);
  assert.deepEqual(
    failed.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.equal(writes.find('s', 'd'), null);
  fails = false;
  await add();
});
