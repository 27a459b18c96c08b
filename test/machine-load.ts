import assert from 'node:assert/strict';
import { availableParallelism, loadavg } from 'node:os';

/** CPU time that the fixed work took on the machine on which bounds were written, ms. */
const fixedWorkMs = 2.4;
const fixedText = JSON.stringify(Array.from({ length: 20_000 }, (_, at) => ({ at, name: `name ${at}` })));
const runs = 12;

/**
 * How many times slower than on that machine CPU time passes right now, where cores share caches with others: by the
 * median of some runs of a fixed work; never below 1.
 */
export function slowness(): number {
  const took = Array.from({ length: runs }, () => {
    const before = process.threadCpuUsage();
    JSON.parse(fixedText);
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.max(1, took.sort((a, b) => a - b)[runs / 2]! / fixedWorkMs);
}

/**
 * How many times longer than on that machine, when it is quiet, work may take by the clock: as the fixed work does now,
 * and as there was work for each core in the last minute; never below 1.
 */
export function busyness(): number {
  const startedMs = performance.now();
  for (let run = 0; run < runs; run++) JSON.parse(fixedText);
  const nowTimes = (performance.now() - startedMs) / runs / fixedWorkMs;
  const lastMinuteTimes = loadavg()[0]! / availableParallelism();
  return Math.max(1, nowTimes, lastMinuteTimes * slowness());
}

/** Asserts that `ms` by the clock are no more than `promisedMs` would be on a quiet machine: a busy or slow one has more. */
export function assertWithin(ms: number, promisedMs: number, what = 'it'): void {
  if (ms < promisedMs) return;
  const times = busyness();
  assert.ok(
    ms < promisedMs * times,
    `${what} took ${ms.toFixed(0)} ms, of ${promisedMs} on a quiet machine; this one takes ${times.toFixed(1)} times as long`,
  );
}
