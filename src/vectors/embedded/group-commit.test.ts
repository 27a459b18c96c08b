import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { FailureError } from '../../kernel/failure.ts';
import { createGroupCommit } from './group-commit.ts';
import type { ShardFile } from './shards/shard-file.ts';
import type { Job } from './waiting-jobs.ts';

/** A disk whose next commits fail with these result codes, and what became of the jobs. */
function over(codes: (number | null)[], isHeld?: (tenant: string) => boolean) {
  const logged: string[] = [];
  const events: string[] = [];
  const shard = {
    exec(sql: string) {
      const code = sql === 'COMMIT' ? codes.shift() : null;
      if (code != null) throw Object.assign(new Error('disk trouble'), { errcode: code });
    },
    inTransaction: () => true,
    logFull: () => null,
    checkpoint() {},
  } as unknown as ShardFile;
  const clock = fakeClock();
  const group = createGroupCommit(shard, {
    onIdle() {},
    ...(isHeld !== undefined && { isHeld }),
    notify: (message) => logged.push(message),
    clock,
  });
  const job = (name: string, points = 1, tenant: string | null = null): Job<string> => ({
    tenant,
    points,
    run: () => name,
    committed: () => events.push(`${name} committed`),
    undone: () => events.push(`${name} undone`),
  });
  return { group, job, logged, events, clock };
}

const sqliteFull = 13;
const fsyncFailed = 1034;

test('a commit that fails refuses all its calls, undone from the last to the first, and the next one may pass', async () => {
  const { group, job, logged, events } = over([sqliteFull]);
  const ends = await Promise.allSettled([group.add(job('a')), group.add(job('b'))]);
  for (const end of ends) assert(end.status === 'rejected' && end.reason instanceof FailureError);
  assert.deepEqual(events, ['b undone', 'a undone']);
  assert.equal(await group.add(job('c')), 'c');
  assert.deepEqual(logged.length, 2);
});

test('a disk that fails every other commit fills no log: it is told of once in ten seconds', async () => {
  const { group, job, logged, clock } = over(Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? sqliteFull : null)));
  const both = ['vectors: writes fail: disk trouble', 'vectors: writes work again'];
  for (let i = 0; i < 10; i++) await group.add(job('a')).catch(() => {});
  assert.deepEqual(logged, both);
  clock.advance(10_000);
  for (let i = 0; i < 10; i++) await group.add(job('a')).catch(() => {});
  assert.deepEqual(logged, [...both, ...both]);
});

test('F32 after an fsync that failed nothing is written until the file is opened anew', async () => {
  const { group, job, events } = over([fsyncFailed]);
  await assert.rejects(group.add(job('a')), FailureError);
  await assert.rejects(group.add(job('b')), ({ failure }: FailureError) => {
    assert(failure.kind === 'overloaded');
    assert.match(failure.message, /Restart Culvert/);
    return true;
  });
  assert.deepEqual(events, ['a undone']);
});

test('a group takes 1,024 points, or one larger call by itself', async () => {
  const { group, job } = over([]);
  await Promise.all([
    group.add(job('a', 600)),
    group.add(job('b', 424)),
    group.add(job('c', 5_000)),
    group.add(job('d', 1)),
  ]);
  assert.equal(group.commits(), 3);
});

test('a group takes the calls of tenants by turns', async () => {
  const { group, job, events } = over([]);
  const all = [
    ...['a', 'b', 'c'].map((name) => group.add(job(`busy ${name}`, 500, 'busy'))),
    group.add(job('quiet', 1, 'quiet')),
  ];
  await all.at(-1);
  assert.deepEqual(events, ['busy a committed', 'quiet committed', 'busy b committed']);
  await Promise.all(all);
});

test('calls of a tenant whose collections are being read wait, in their order, and those of others do not', async () => {
  const held = new Set(['reading']);
  const { group, job, events } = over([], (tenant) => held.has(tenant));
  const waiting = [group.add(job('first', 1, 'reading')), group.add(job('second', 1, 'reading'))];
  await group.add(job('other', 1, 'other'));
  assert.deepEqual(events, ['other committed']);
  held.clear();
  group.commitHeld();
  assert.deepEqual(events, ['other committed', 'first committed', 'second committed']);
  await Promise.all(waiting);
});
