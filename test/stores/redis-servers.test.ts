import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { callMilliIn, scopesOf } from '../../src/books/metering/counter-scope.ts';
import type { Held } from '../../src/books/metering/counters.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { openRedisCache } from '../../src/stores/cache/redis-cache.ts';
import type { RedisCounters } from '../../src/stores/redis/counters.ts';
import { openRedisCounters } from '../../src/stores/redis/open-counters.ts';
import { redisFacts } from '../../src/stores/redis/redis-facts.ts';
import { keyServersOf, partOf } from '../../src/stores/redis/servers.ts';
import { closeInBooks, passing, replica, reserve } from '../faults/redis-replica.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { type StartedCluster, startRedisCluster } from '../start-redis-cluster.ts';
import { startRedisSentinels } from '../start-redis-sentinel.ts';
import { until } from '../until.ts';
import { type FakeBooks, fakeBooks } from './counter-books.ts';
import { type Asker, newAsker, usedOf } from './counter-requests.ts';

const unit = 1_000;
const options = { skip: redisMissing };
const slotOf = (part: number) => 512 + 1_024 * part;

test('accounts are divided evenly, always in the same way, and the slots are those of the tags', options, async (t) => {
  assert.deepEqual(['acme', 'acct_1', 'acct_2', 'Ω'].map(partOf), [1, 3, 2, 4]);
  const counts = new Array<number>(16).fill(0);
  for (let i = 0; i < 16_000; i++) counts[partOf(`acct_${i}`)]! += 1;
  assert.ok(Math.min(...counts) > 900 && Math.max(...counts) < 1_100, counts.join(' '));

  const cluster = await startRedisCluster(t, { primaries: 1 });
  const { parts } = keyServersOf(cluster.url, systemClock);
  const slotOfTag = (tag: string | null) => Number(cluster.nodes[0]!.cli('CLUSTER', 'KEYSLOT', `cv:x:{${tag}}:epoch`));
  assert.deepEqual(
    parts.map(({ tag }) => slotOfTag(tag)),
    parts.map((_, at) => slotOf(at)),
  );
  assert.equal(slotOfTag('cache'), 9_427);
});

test(
  'the accounts of a server that died wait for its replica and lose nothing; others do not wait',
  options,
  async (t) => {
    const cluster = await startRedisCluster(t, { replicas: 1 });
    const books = fakeBooks('later');
    const both = [await open(t, cluster, books), await open(t, cluster, books)];
    const [lost, other] = [askerOn(0), askerOn(15)];
    assert.equal(await spend(both, books, lost, 4), 4);
    assert.equal(await spend(both, books, other, 4), 4);
    await cluster.nodes[0]!.kill();
    await until('the loss is noticed', () => both.every(({ parts }) => parts[0]!.lost()));
    assert.equal((await reserve(both[0]!.counters, books, lost, 20 * unit)).kind, 'unavailable');
    assert.equal(await passingOf(both, books, other, 8), 8);
    assert.equal(both[0]!.counters.trouble(), null, 'others are served');
    await countedAgain(both, lost);
    assert.equal(await passingOf(both, books, lost, 40), 16);
    assert.equal(await passingOf(both, books, other, 40), 8);
  },
);

test('a slot that moves to another server takes its counts along', options, async (t) => {
  const cluster = await startRedisCluster(t);
  const books = fakeBooks('later');
  const both = [await open(t, cluster, books), await open(t, cluster, books)];
  const who = askerOn(3);
  assert.equal(await spend(both, books, who, 4), 4);
  cluster.moveSlot(slotOf(3), 0, 2);
  await countedAgain(both, who);
  assert.equal(await passingOf(both, books, who, 40), 16);
  assert.match(cluster.nodes[2]!.cli('KEYS', `*{${who.account}}*`), /acme/);
  assert.match(
    both[0]!.troubles.join('\n'),
    /^redis \(part 4 of 16 of the accounts\): nothing can be admitted: .*another server/m,
  );
});

test('answers that are kept are found where their slot moved to', options, async (t) => {
  const cluster = await startRedisCluster(t);
  const bounds = { scopeBytes: 1e6, totalBytes: 1e6 };
  const cache = openRedisCache({ url: cluster.url, booksId: 'test', bounds, clock: systemClock, onTrouble() {} });
  t.after(() => cache.close());
  const atMs = Date.now();
  const entry = { atMs, expiresAtMs: atMs + 600_000, keyId: 'k', model: 'm', tag: null, body: Buffer.from('hello') };
  await cache.put('scope', 'digest', entry);
  cluster.moveSlot(9_427, 1, 2);
  const found = async () => {
    const entry = await Promise.resolve(cache.get('scope', 'digest')).catch(() => null);
    return String(entry?.body) === 'hello';
  };
  await until('it is found', found);
  await cache.put('scope', 'other', entry);
});

test(
  'sentinels name the primary, and the next one when it dies: nothing is lost and nothing counts twice',
  options,
  async (t) => {
    const { url, servers } = await startRedisSentinels(t, 'their+password');
    const books = fakeBooks('later');
    const both = [await open(t, { url }, books), await open(t, { url }, books)];
    const who = newAsker();
    assert.equal(await spend(both, books, who, 4), 4);
    await servers[0].kill();
    await countedAgain(both, who);
    assert.equal(await passingOf(both, books, who, 40), 16);
    assert.match(servers[1].cli('INFO', 'replication'), /role:master/);
  },
);

test('the wrong kind of URL is named with the right one', options, async (t) => {
  const [cluster, single] = await Promise.all([startRedisCluster(t, { primaries: 1 }), startRedis(t)]);
  const plain = replica(t, cluster.nodes[0]!.url, fakeBooks('later'));
  await until('it is named', () => /write redis\+cluster:\/\//.test(plain.counters.trouble() ?? ''));
  const asCluster = single.url.replace('redis:', 'redis+cluster:');
  const { parts } = await open(t, { url: asCluster }, fakeBooks('later'), { ready: false });
  await until('it is named', () =>
    /no server of this kind .*cluster support disabled.*correct the scheme/.test(parts[0]!.trouble() ?? ''),
  );
  assert.match((await redisFacts(asCluster, systemClock)).trouble ?? '', /correct the scheme/);
  assert.equal((await redisFacts(cluster.url, systemClock)).trouble, null);
  const asSentinel = single.url.replace('redis:', 'redis+sentinel:');
  assert.match((await redisFacts(`${asSentinel}/main`, systemClock)).trouble ?? '', /correct the scheme/);
});

/** The caller whose account is in this part. */
function askerOn(part: number): Asker {
  for (;;) {
    const who = newAsker();
    if (partOf(who.account) === part) return who;
  }
}

async function open(t: TestContext, { url }: Pick<StartedCluster, 'url'>, books: FakeBooks, { ready = true } = {}) {
  const troubles: string[] = [];
  const parts: RedisCounters[] = [];
  const { counters } = await openRedisCounters(
    {
      url,
      booksId: 'test',
      books,
      rules: { scopesOf, callMilliIn },
      clock: systemClock,
      onTrouble: (text) => troubles.push(text),
    },
    (shared) => {
      parts.push(shared);
      return shared;
    },
  );
  t.after(() => counters.close());
  if (ready) await Promise.all(parts.map((part) => part.whenReady()));
  return { counters, parts, troubles };
}

/** Requests that end, one after the other; how many passed. */
async function spend(all: readonly Awaited<ReturnType<typeof open>>[], books: FakeBooks, who: Asker, requests: number) {
  let passed = 0;
  for (let i = 0; i < requests; i++) {
    const { counters } = all[i % all.length]!;
    const held = (await reserve(counters, books, who, 20 * unit)) as Held;
    if (held.kind !== 'held') continue;
    passed += 1;
    closeInBooks(books, who, held, { costMilli: unit });
    counters.settle(held, { costMilli: unit, tokens: 0, usdNano: 0 });
  }
  return passed;
}

type Opened = Awaited<ReturnType<typeof open>>;

/** Waits until each of them counts the four units that were used before. */
async function countedAgain(all: readonly Opened[], who: Asker): Promise<void> {
  for (const { counters } of all) {
    const used = () => usedOf(counters, who, 'units', '5h').catch(() => 0);
    await until('they are counted again', async () => (await used()) === 4 * unit);
  }
}

/** How many of so many callers at once pass a limit of 20. */
function passingOf(all: readonly Opened[], books: FakeBooks, who: Asker, callers: number): Promise<number> {
  return passing(
    all.map(({ counters }) => counters),
    books,
    who,
    20 * unit,
    callers,
  );
}
