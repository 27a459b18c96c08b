import { existsSync, readFileSync } from 'node:fs';

/** Why the CPU time of one thread cannot be read here, for `skip`; false: it can. */
export const noThreadTimes = existsSync('/proc/self/schedstat') ? false : 'the CPU time of a thread is read from /proc';

/**
 * CPU time of a process's main thread, ms. Unlike a clock it does not run while others have the core, so that a loaded
 * machine does not move it.
 */
export function mainThreadMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

/**
 * How much slower this machine is right now than the one on which bounds were written: CPU time of a fixed piece of
 * work, the best of some, over its time there; never below 1.
 */
export function slowness(): number {
  const text = JSON.stringify(Array.from({ length: 20_000 }, (_, at) => ({ at, name: `name ${at}` })));
  let leastMs = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 12; run++) {
    const before = process.threadCpuUsage();
    JSON.parse(text);
    const { user, system } = process.threadCpuUsage(before);
    leastMs = Math.min(leastMs, (user + system) / 1_000);
  }
  return Math.max(1, leastMs / fixedWorkMs);
}

/** CPU time that the fixed work took there, ms. */
const fixedWorkMs = 2.4;
