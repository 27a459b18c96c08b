import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Why the CPU time of one thread cannot be read here, for `skip`; false: it can. */
export const noThreadTimes = existsSync('/proc/self/schedstat') ? false : 'the CPU time of a thread is read from /proc';

/**
 * CPU time of a process's main thread, ms. Unlike a clock it does not run while others have the core, so that a loaded
 * machine does not move it.
 */
export function mainThreadMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

/** CPU time of each worker thread of a process by its id, ms; without the threads that V8 keeps for itself. */
export function workerThreadsMs(pid: number): Map<string, number> {
  const tasks = `/proc/${pid}/task`;
  const workers = readdirSync(tasks).filter(
    (id) => Number(id) !== pid && !/^(V8Worker|DelayedTask)/.test(readFileSync(`${tasks}/${id}/comm`, 'utf8')),
  );
  return new Map(
    workers.map((id) => [id, Number(readFileSync(`${tasks}/${id}/schedstat`, 'utf8').split(' ')[0]) / 1e6]),
  );
}
