import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FailureError } from '../../src/kernel/failure.ts';
import { seededRandom } from '../../src/kernel/random.ts';
import type { EmbeddedStore } from '../../src/vectors/embedded/embedded-store.ts';
import { shardOf } from '../../src/vectors/embedded/shards/shard-of.ts';
import { pagesOf } from '../../src/vectors/move-tenant.ts';
import type { StoredPoint } from '../../src/vectors/point.ts';
import { everything, near, spec, temporaryStore, upsert } from '../fixtures/temporary-vector-store.ts';

const flips = 200;
const collections = ['a', 'b', 'c'];
/** In one file, so that what damages one might reach the other. */
const tenants = ['acme', neighbourOf('acme')];

test(`F35 a flipped byte, at ${flips} places: each collection answers what was written or is refused, others are served`, async (t) => {
  const { store, dataDir } = temporaryStore(t);
  for (const tenant of tenants) {
    for (const name of collections) {
      await store.create({ tenant, account: 'acme' }, spec(name, 16, { distance: 'Dot' }));
      await store.write(tenant, name, [upsert(...points(`${tenant}${name}`))]);
      await store.changeAliases(tenant, [{ kind: 'create', alias: `${name}-alias`, collection: name }]);
      await store.indexPayload(tenant, name, 'text', 'keyword');
    }
  }
  const truth = await answers(store);
  for (const answer of truth.values()) assert(typeof answer !== 'string');
  await store.close();
  const whole = readFileSync(fileOf(dataDir));
  const random = seededRandom(35);
  let refused = 0;
  let served = 0;
  for (let flip = 0; flip < flips; flip += 1) {
    const at = Math.floor(random.next() * whole.length);
    const damaged = Buffer.from(whole);
    damaged[at] = damaged[at]! ^ (1 << Math.floor(random.next() * 8));
    const copy = temporaryStore(t);
    writeFileSync(fileOf(copy.dataDir), damaged);
    for (const [question, answer] of await answers(copy.store)) {
      if (typeof answer === 'string') {
        refused += 1;
        assert.match(answer, /damaged on the disk|cannot be opened|newer Culvert|says it is shard/, `byte ${at}`);
      } else {
        served += 1;
        assert.deepEqual(answer, truth.get(question), `byte ${at}: ${question}`);
      }
    }
    await copy.store.close();
  }
  assert(refused > 0);
  assert(served > refused, `${served} served, ${refused} refused`);
});

test('F35 a collection that is damaged can be deleted and made anew', async (t) => {
  const { store, dataDir } = temporaryStore(t);
  const [tenant = ''] = tenants;
  const owner = { tenant, account: 'acme' };
  for (const name of ['lost', 'kept']) {
    await store.create(owner, spec(name));
    await store.write(tenant, name, [upsert([1, [1, 0], { text: `of ${name}, unmistakably` }])]);
  }
  await store.close();
  const bytes = readFileSync(fileOf(dataDir));
  bytes[bytes.indexOf('of lost, unmistakably')] = 0x21;
  const copy = temporaryStore(t);
  writeFileSync(fileOf(copy.dataDir), bytes);
  await assert.rejects(copy.store.query(tenant, 'lost', [near([1, 0])]), refusedAs(/'lost' is damaged on the disk/));
  await assert.rejects(copy.store.write(tenant, 'lost', [upsert([2, [0, 1]])]), refusedAs(/'lost' is damaged/));
  assert.equal((await copy.store.retrieve(tenant, 'kept', [1], everything)).length, 1);
  assert.match(copy.logged.join(), /collection 'lost' is damaged/);
  assert.equal(await copy.store.drop(tenant, 'lost'), true);
  await copy.store.create(owner, spec('lost'));
  assert.equal(await copy.store.count(tenant, 'lost', null), 0);
});

test('F35 a file that is none of ours is refused whole, and the other shards are served', async (t) => {
  const { store, dataDir, logged } = temporaryStore(t);
  const [tenant = ''] = tenants;
  writeFileSync(fileOf(dataDir), 'not a database, by any means'.repeat(500));
  await assert.rejects(store.list(tenant), refusedAs(/damaged on the disk and is not served\. Other parts are/));
  const other = neighbourOf(tenant, 'elsewhere');
  await store.create({ tenant: other, account: 'acme' }, spec('docs'));
  assert.equal((await store.tenants()).length, 1);
  assert.equal(await store.trouble(), null);
  assert.equal(logged.length, 1);
});

test('F36 a log torn anywhere in its last three commits: all before is there, and no commit in part', async (t) => {
  const { store, dataDir } = temporaryStore(t);
  const [tenant = ''] = tenants;
  await store.create({ tenant, account: 'acme' }, spec('docs'));
  const lengths: number[] = [];
  const file = fileOf(dataDir);
  for (let call = 0; call < 6; call += 1) {
    await store.write(tenant, 'docs', [upsert([2 * call, [1, 0]], [2 * call + 1, [0, 1]])]);
    lengths.push(readFileSync(`${file}-wal`).length);
  }
  const torn = temporaryStore(t);
  const copy = fileOf(torn.dataDir);
  for (let length = lengths[2]!; length <= lengths[5]!; length += 509) {
    copyFileSync(file, copy);
    copyFileSync(`${file}-wal`, `${copy}-wal`);
    truncateSync(`${copy}-wal`, length);
    const opened = await torn.reopen();
    const whole = lengths.filter((end) => end <= length).length;
    assert.equal(await opened.count(tenant, 'docs', null), 2 * whole, `cut at ${length}`);
    await opened.close();
  }
});

function fileOf(dataDir: string): string {
  mkdirSync(join(dataDir, 'vectors'), { recursive: true });
  return join(dataDir, 'vectors', `shard-${shardOf(tenants[0]!)}.db`);
}

/** Some with UUIDs, deleted rows between them, and payloads that overflow a page. */
function points(seed: string): [number | string, number[], object][] {
  return Array.from({ length: 12 }, (_, i) => [
    i % 2 === 0 ? i : `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
    Array.from({ length: 16 }, (_, j) => i * j + seed.length),
    { text: `${seed} ${i}`.repeat(i === 7 ? 800 : 1) },
  ]);
}

type Answer = string | readonly unknown[];

/** Everything that can be asked of the two tenants: the answer, or the words it was refused with. */
async function answers(store: EmbeddedStore): Promise<Map<string, Answer>> {
  const all = new Map<string, Answer>();
  for (const tenant of tenants) {
    all.set(`list of ${tenant}`, await answerOf(() => store.list(tenant)));
    all.set(`aliases of ${tenant}`, await answerOf(() => store.aliases(tenant, null)));
    for (const name of collections) {
      const at = `${tenant}/${name}`;
      all.set(`info of ${at}`, await answerOf(async () => [await store.inspect(tenant, name)]));
      all.set(`points of ${at}`, await answerOf(() => everyPoint(store, tenant, name)));
      all.set(
        `search in ${at}`,
        await answerOf(() => store.query(tenant, `${name}-alias`, [near(new Array(16).fill(1), { want: everything })])),
      );
      const ids = points('').map(([id]) => id);
      all.set(`ids in ${at}`, await answerOf(() => store.retrieve(tenant, name, ids, everything)));
    }
  }
  return all;
}

async function everyPoint(store: EmbeddedStore, tenant: string, name: string): Promise<StoredPoint[]> {
  const found: StoredPoint[] = [];
  for await (const page of pagesOf(store, tenant, name, 5)) found.push(...page);
  return found;
}

async function answerOf(ask: () => Promise<readonly unknown[]>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    assert(error instanceof FailureError, error instanceof Error ? error.stack : String(error));
    assert.equal(error.failure.kind, 'overloaded');
    return 'message' in error.failure ? error.failure.message : '';
  }
}

function refusedAs(words: RegExp) {
  return (error: unknown) => {
    assert(error instanceof FailureError);
    assert.equal(error.failure.kind, 'overloaded');
    assert.match('message' in error.failure ? error.failure.message : '', words);
    return true;
  };
}

/** A tenant of the same shard, or of another one. */
function neighbourOf(tenant: string, where: 'here' | 'elsewhere' = 'here'): string {
  for (let at = 0; ; at += 1) {
    const other = `key-${at}`;
    if ((shardOf(other) === shardOf(tenant)) === (where === 'here')) return other;
  }
}
