// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { fakeClock } from '../../test/fake-clock.ts';
import { EngineChild, type EngineChildOptions, queuedOrdersMax } from './engine-child.ts';
import { EngineError } from './engine-error.ts';

interface Answer {
  echo: unknown;
  pid: number;
}

/** Timers that only the test lets ring. */
function heldTimers() {
  const armed = new Map<object, { ms: number; ring(): void }>();
  return {
    timer(ms: number, then: () => void) {
      const id = {};
      armed.set(id, { ms, ring: then });
      return () => void armed.delete(id);
    },
    ring(ms: number) {
      const due = [...armed].filter(([, one]) => one.ms === ms);
      assert.ok(due.length > 0, `no timer of ${ms} ms runs, but ${[...armed.values()].map((one) => one.ms)}`);
      for (const [id, one] of due) {
        armed.delete(id);
        one.ring();
      }
    },
  };
}

function childFor(t: TestContext, options: Partial<EngineChildOptions> = {}) {
  const clock = fakeClock();
  const timers = heldTimers();
  const child = new EngineChild({
    name: 'the engine test',
    load: {},
    clock,
    timer: timers.timer,
    entry: new URL('./engine-child.fixture.mjs', import.meta.url),
    ...options,
  });
  t.after(() => child.close());
  return { child, clock, timers };
}

const failing = (words: RegExp, retryAfterMs?: number) => (error: unknown) => {
  assert.ok(error instanceof EngineError);
  assert.match(error.message, words);
  assert.equal(error.fault.class, /as many as/.test(error.message) ? 'gateway_fault' : 'transient');
  if (retryAfterMs !== undefined) assert.equal(error.fault.retryAfterMs, retryAfterMs);
  return true;
};

test('orders are answered one after another by one process, typed arrays whole', async (t) => {
  const { child } = childFor(t);
  const say = [new Float32Array([0.5, -1]), 'two', 3];
  const answers = await Promise.all(say.map((one) => child.ask<Answer>('a', { say: one })));
  assert.deepEqual(
    answers.map(({ echo }) => echo),
    say,
  );
  assert.equal(new Set(answers.map(({ pid }) => pid)).size, 1);
});

test('no process runs before the first order, and none after the last has been ten minutes ago', async (t) => {
  const { child, timers } = childFor(t);
  assert.equal(child.pid(), null);
  const first = await child.ask<Answer>('a', { say: 1 });
  assert.equal(child.pid(), first.pid);
  timers.ring(600_000);
  assert.equal(child.pid(), null);
  // It is not a crash: the next order starts another at once.
  const second = await child.ask<Answer>('a', { say: 2 });
  assert.notEqual(second.pid, first.pid);
});

test('what fails inside it fails the one order, by its words', async (t) => {
  const { child } = childFor(t);
  const bad = child.ask('a', { fails: 'no such voice' });
  const good = child.ask<Answer>('a', { say: 'fine' });
  await assert.rejects(bad, failing(/no such voice/));
  assert.equal((await good).echo, 'fine');
});

test('57: an engine that crashes fails its orders and is started again after a pause that doubles', async (t) => {
  const { child, clock } = childFor(t);
  const orders = [child.ask('a', { dies: true }), child.ask('a', { say: 'behind it' })];
  for (const order of orders) await assert.rejects(order, failing(/out of luck/, 1_000));
  await assert.rejects(child.ask('a', { say: 1 }), failing(/restarts in 1 s/));
  clock.advance(1_000);
  await assert.rejects(child.ask('a', { dies: true }), failing(/exit code 3/, 2_000));
  clock.advance(1_999);
  await assert.rejects(child.ask('a', { say: 1 }), failing(/restarts/));
  clock.advance(1);
  assert.equal((await child.ask<Answer>('a', { say: 'again' })).echo, 'again');
  // One that worked begins anew.
  await assert.rejects(child.ask('a', { dies: true }), failing(/out of luck/, 1_000));
});

test('57: an engine that is stopped by SIGSTOP is killed, and the next order gets another', async (t) => {
  const { child, clock, timers } = childFor(t);
  const { pid } = await child.ask<Answer>('a', { say: 1 });
  process.kill(pid, 'SIGSTOP');
  const order = child.ask('a', { say: 2 });
  await new Promise(setImmediate);
  timers.ring(120_000);
  await assert.rejects(order, failing(/said nothing for 120 s/));
  clock.advance(1_000);
  assert.notEqual((await child.ask<Answer>('a', { say: 3 })).pid, pid);
});

test('57: an engine that is killed from outside fails what it was asked', async (t) => {
  const { child } = childFor(t);
  const { pid } = await child.ask<Answer>('a', { say: 1 });
  const order = child.ask('a', { hangs: true });
  process.kill(pid, 'SIGKILL');
  await assert.rejects(order, failing(/SIGKILL/));
});

test('57: the queue is bounded: what comes above it is refused at once, and told to come again', async (t) => {
  const { child } = childFor(t);
  await child.ask('a', { say: 1 });
  const waiting = Array.from({ length: queuedOrdersMax + 1 }, () => child.ask('a', { hangs: true }));
  for (const one of waiting) one.catch(() => {});
  await assert.rejects(child.ask('a', { say: 'too much' }), failing(/as many as one key may have/, 1_000));
});

test('an engine that cannot load its model says why', async (t) => {
  const { child } = childFor(t, { load: { refuses: 'the file is not a model' } });
  await assert.rejects(child.ask('a', { say: 1 }), failing(/the file is not a model/));
});

test('57: one that hangs while it loads is killed too', async (t) => {
  const { child, timers } = childFor(t, { load: { hangs: true } });
  const order = child.ask('a', { say: 1 });
  await new Promise(setImmediate);
  timers.ring(300_000);
  await assert.rejects(order, failing(/said nothing for 300 s/));
});

test('whoever leaves is told at once, and keeps nobody else from their turn', async (t) => {
  const { child } = childFor(t);
  const leaving = new AbortController();
  const waiting = child.ask('a', { hangs: true, never: 'begun' }, leaving.signal);
  const first = child.ask<Answer>('a', { say: 'mine' });
  leaving.abort(new Error('left'));
  await assert.rejects(waiting, /left/);
  assert.equal((await first).echo, 'mine');
});

test('S30 orders of one tenant wait for one of another, and no longer', async (t) => {
  const { child } = childFor(t);
  const order: string[] = [];
  const askAs = (tenant: string, say: string) => child.ask<Answer>(tenant, { say }).then(() => void order.push(say));
  await Promise.all([...['a1', 'a2', 'a3', 'a4'].map((say) => askAs('a', say)), askAs('b', 'b1')]);
  assert.deepEqual(order, ['a1', 'b1', 'a2', 'a3', 'a4']);
});

test('it sees no credential of the gateway', async (t) => {
  process.env.CULVERT_TEST_SECRET = 'sk-secret';
  t.after(() => delete process.env.CULVERT_TEST_SECRET);
  const { child } = childFor(t);
  const seen = await child.ask<Record<string, string>>('a', { environment: true });
  assert.equal(seen.CULVERT_TEST_SECRET, undefined);
  assert.equal(seen.PATH, process.env.PATH);
});

test('closing ends it, and fails what it was asked', async (t) => {
  const { child } = childFor(t);
  const { pid } = await child.ask<Answer>('a', { say: 1 });
  const order = child.ask('a', { hangs: true });
  order.catch(() => {});
  await child.close();
  await assert.rejects(order, failing(/closed/));
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  await assert.rejects(child.ask('a', { say: 1 }), failing(/closed/));
});

test('the process of an engine ends when its gateway does, even by kill -9', async () => {
  const host = fork(new URL('./child/engine-host.ts', import.meta.url), { stdio: 'ignore' });
  await once(host, 'spawn');
  // The death of the other side, as seen from there.
  host.disconnect();
  const [code] = await once(host, 'exit');
  assert.equal(code, 0);
});
