import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { CacheEntry } from '../../books/metering/cache-store.ts';
import { systemClock } from '../../kernel/clock.ts';
import { createSealer } from '../../kernel/seal.ts';
import { type CacheParts, openCache } from './open-cache.ts';

const secret = 'a secret of this test, 32 bytes long';

const newFolder = () => mkdtempSync(join(tmpdir(), 'culvert-open-cache-'));

interface Opening {
  room?: CacheParts['room'];
  path?: string;
  folderWriters?: 'one' | 'several';
}

function opened(t: TestContext, { room = null, path = newFolder(), folderWriters = 'one' }: Opening = {}) {
  const cache = openCache({
    config: { storage: { state: 'memory', cache: { max_per_scope: 1_000_000, max: 10_000_000 } } },
    folder: { path },
    stores: { booksId: async () => 'books', folderWriters },
    secrets: { all: () => [secret], sealer: (purpose) => createSealer([secret], purpose) },
    room,
    clock: systemClock,
    onTrouble: (message) => assert.fail(message),
  });
  t.after(async () => {
    await cache.close();
    rmSync(path, { recursive: true, force: true });
  });
  return cache;
}

function entry(): CacheEntry {
  const atMs = systemClock.wallMs();
  return { atMs, expiresAtMs: atMs + 60_000, keyId: 'k', model: 'smart', tag: null, body: Buffer.from('{}') };
}

test('an answer that is kept before the cache is open is found at once, and when it is open', async (t) => {
  const cache = opened(t);
  assert.equal(cache.get('scope', 'one'), null);
  const one = entry();
  const kept = cache.put('scope', 'one', one);
  assert.equal(cache.get('scope', 'one'), one);
  assert.equal(cache.get('other', 'one'), null);
  await kept;
  assert.deepEqual(await cache.get('scope', 'one'), one);
  assert.equal(await cache.get('other', 'one'), null);
});

test('nothing is kept on a full disk', async (t) => {
  const cache = opened(t, { room: { refusal: () => ({}), taken: () => assert.fail('nothing is taken') } });
  await assert.rejects(cache.put('scope', 'one', entry()), /the disk of the data folder is full/);
  assert.equal(await cache.get('scope', 'one'), null);
});

test('removing answers also removes those that another process is writing', async (t) => {
  const path = newFolder();
  const [one, other] = [1, 2].map(() => opened(t, { path, folderWriters: 'several' }));
  assert.ok(one !== undefined && other !== undefined);
  await Promise.all([one, other].map((cache) => cache.put('scope', 'first', entry())));
  const kept = other.put('scope', 'second', entry());
  await one.clear({});
  await kept;
  for (const cache of [one, other]) {
    for (const digest of ['first', 'second']) assert.equal(await cache.get('scope', digest), null, digest);
  }
});
