import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../test/fake-clock.ts';
import { until } from '../../test/until.ts';
import { JobRests, type JobStore, LeasedJobs, leaseMs, workerApart } from './leased-jobs.ts';
import { Unopenable } from './unopenable.ts';

/** A store of jobs by the wall-clock ms from which each is free. */
function storeOf(freeMs: Map<string, number>): JobStore<{ id: string }> {
  return {
    async lease(_worker, nowMs, untilMs, limit) {
      const free = [...freeMs].filter(([, atMs]) => atMs <= nowMs).slice(0, limit);
      for (const [id] of free) freeMs.set(id, untilMs);
      return free.map(([id]) => ({ id }));
    },
    async renew({ id }, untilMs) {
      freeMs.set(id, untilMs);
      return true;
    },
    release: async () => undefined,
  };
}

test('jobs that no secret opens rest for a minute, with one line in the log for all of them', async () => {
  const clock = fakeClock();
  const begunMs = clock.wallMs();
  const freeMs = new Map([1, 2, 3].map((at) => [`batch_${at}`, begunMs]));
  const lines: string[] = [];
  const jobs = new LeasedJobs({
    store: storeOf(freeMs),
    worker: workerApart('this one', 'alone'),
    clock,
    atOnceMax: 10,
    noun: 'batch',
    async work({ id }) {
      throw new Unopenable(`The batch '${id}'`);
    },
    onTrouble: (line) => lines.push(line),
  });
  const minuteMs = 60_000;
  for (let minutes = 0; minutes < 3; minutes += 1) {
    await jobs.look();
    await until('all rest', () => [...freeMs.values()].every((atMs) => atMs === clock.wallMs() + minuteMs));
    clock.advance(minuteMs);
  }
  await jobs.stop();
  assert.equal(lines.length, 3);
  assert.match(
    lines[2]!,
    /^work at a batch rests, 3 times since the last such line: each was sealed with another storage\.secret/,
  );
});

test('a job that rests leaves its place to another, and is taken up again', async () => {
  const clock = fakeClock();
  const freeMs = new Map([1, 2].map((at) => [`batch_${at}`, clock.wallMs()]));
  const begun: string[] = [];
  const jobs = new LeasedJobs({
    store: storeOf(freeMs),
    worker: workerApart('this one', 'alone'),
    clock,
    atOnceMax: 1,
    noun: 'batch',
    async work({ id }) {
      begun.push(id);
      throw new JobRests(5_000);
    },
    onTrouble: assert.fail,
  });
  await jobs.look();
  await until('both have had the place', () => begun.length === 2);
  await jobs.look();
  assert.deepEqual(begun, ['batch_1', 'batch_2']);
  clock.advance(5_000);
  await jobs.look();
  await until('both have it again', () => begun.length === 4);
  await jobs.stop();
});

test('between jobs that end at once others have their turns of the loop', async () => {
  let left = 200;
  let leasedOfTurn = 0;
  let counting: NodeJS.Immediate;
  const turn = () => {
    leasedOfTurn = 0;
    counting = setImmediate(turn);
  };
  const jobs = new LeasedJobs({
    store: {
      async lease(_worker, _nowMs, _untilMs, limit) {
        const jobs = Array.from({ length: Math.min(left, limit) }, () => ({ id: `file_${left--}` }));
        leasedOfTurn += jobs.length;
        assert.ok(leasedOfTurn <= 8, `${leasedOfTurn} in one turn`);
        return jobs;
      },
      renew: async () => true,
      release: async () => undefined,
    },
    worker: workerApart('this one', 'alone'),
    clock: fakeClock(),
    atOnceMax: 8,
    noun: 'file',
    work: async () => undefined,
    onTrouble: () => assert.fail('nothing fails'),
  });
  counting = setImmediate(turn);
  await jobs.look();
  await until('all are done', () => left === 0);
  clearImmediate(counting);
  await jobs.stop();
});

test('a process whose clock is ahead takes no job from the one that has it', async () => {
  const store = fakeClock();
  const leases = new Map([['crawl_1', { worker: '', untilMs: 0 }]]);
  const begun: string[] = [];
  const processAhead = (name: string, byMs: number) =>
    new LeasedJobs({
      store: {
        async lease(worker, nowMs, untilMs) {
          const free = [...leases].filter(([, lease]) => lease.untilMs <= nowMs).map(([id]) => id);
          for (const id of free) leases.set(id, { worker, untilMs });
          return free.map((id) => ({ id }));
        },
        renew: async ({ id, worker }) => leases.get(id)?.worker === worker,
        release: async () => undefined,
      },
      worker: { ...workerApart(name, 'may-live'), aheadMs: () => -byMs },
      clock: { monotonicMs: store.monotonicMs, wallMs: () => store.wallMs() + byMs },
      atOnceMax: 8,
      noun: 'crawl',
      work: (_job, _lease, signal) => {
        begun.push(name);
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      },
      onTrouble: () => assert.fail('nothing fails'),
    });
  const [one, ahead] = [processAhead('one', 0), processAhead('ahead', 90_000)];
  await one.look();
  await ahead.look();
  assert.deepEqual(begun, ['one']);
  // One that is dead is followed by the other after its lease, not later.
  store.advance(leaseMs);
  await ahead.look();
  assert.deepEqual(begun, ['one', 'ahead']);
  await Promise.all([one.stop(), ahead.stop()]);
});
