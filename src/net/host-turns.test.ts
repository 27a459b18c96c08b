import assert from 'node:assert/strict';
import test from 'node:test';
import { createHostTurns, HostBusy } from './host-turns.ts';

const never = new AbortController().signal;
const visit = { tenant: 'a', host: 'x', delayMs: 0 };

/** Work that ends on command. */
function held() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { work: () => promise, end: resolve };
}

const turnsOf = (parts: { atOnceMax?: number; waitingMax?: number; hostsMax?: number; nowMs?: () => number } = {}) =>
  createHostTurns({ atOnceMax: 2, waitingMax: 8, hostsMax: 2, nowMs: () => performance.now(), ...parts });

test('a host is asked so many at one time, another host beside it', async () => {
  const turns = turnsOf();
  const begun: string[] = [];
  const [a, b, c, d] = [held(), held(), held(), held()];
  const run = (name: string, host: string, work: { work(): Promise<void> }) =>
    turns.take({ tenant: name, host, delayMs: 0 }, never, () => {
      begun.push(name);
      return work.work();
    });
  const all = [run('a', 'x', a!), run('b', 'x', b!), run('c', 'x', c!), run('d', 'y', d!)];
  await new Promise(setImmediate);
  assert.deepEqual(begun.toSorted(), ['a', 'b', 'd']);
  a!.end();
  await all[0];
  c!.end();
  await all[2];
  assert.deepEqual(begun.toSorted(), ['a', 'b', 'c', 'd']);
  b!.end();
  d!.end();
  await Promise.all(all);
});

test('the next one begins when the pause since the last is over', async () => {
  let nowMs = 1_000;
  const turns = turnsOf({ nowMs: () => nowMs });
  await turns.take({ ...visit, delayMs: 50 }, never, async () => undefined);
  // The pause is over by the clock that is given, however long the timer takes.
  const next = turns.take({ ...visit, delayMs: 20 }, never, async () => nowMs);
  nowMs = 1_020;
  assert.equal(await next, 1_020);
});

test('too many that wait are refused, and who waits may leave', async () => {
  const turns = turnsOf({ atOnceMax: 1, waitingMax: 1, hostsMax: 1 });
  const first = held();
  const running = turns.take(visit, never, first.work);
  await new Promise(setImmediate);
  const leaving = new AbortController();
  const waiting = turns.take(visit, leaving.signal, async () => undefined);
  await assert.rejects(
    turns.take(visit, never, async () => undefined),
    HostBusy,
  );
  await assert.rejects(
    turns.take({ ...visit, host: 'y' }, never, async () => undefined),
    HostBusy,
  );
  leaving.abort(new Error('left'));
  await assert.rejects(waiting, /left/);
  first.end();
  await running;
  await turns.take({ ...visit, host: 'y' }, never, async () => undefined);
});

test('S30 a slow host is asked in turn for the tenants that wait for it', async () => {
  const turns = turnsOf({ waitingMax: 20 });
  const begun: string[] = [];
  const work = Array.from({ length: 6 }, held);
  const run = (tenant: string, at: number) =>
    turns.take({ ...visit, tenant }, never, () => {
      begun.push(`${tenant}${at}`);
      return work[at]!.work();
    });
  const all = [run('a', 0), run('a', 1), run('a', 2), run('b', 3), run('b', 4)];
  await new Promise(setImmediate);
  assert.deepEqual(begun, ['a0', 'b3']);
  for (const { end } of work) end();
  await Promise.all(all);
  assert.equal(begun.length, 5);
});
