import { globSync, readFileSync } from 'node:fs';
import { residentMb } from './processes.ts';

/** A process and all that it started: masters, workers and their threads. */
export function treeOf(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(treeOf)];
}

export function childrenOf(pid: number): number[] {
  return globSync(`/proc/${pid}/task/*/children`).flatMap((file) =>
    (quietly(() => readFileSync(file, 'utf8')) ?? '').split(' ').filter(Boolean).map(Number),
  );
}

/** CPU of several trees in µs. Threads that ended are not counted, which gateways' threads do not do. */
export function treeCpuUs(roots: readonly number[]): number {
  const threads = roots.flatMap(treeOf).flatMap((pid) => globSync(`/proc/${pid}/task/*/schedstat`));
  // The clock ticks of `stat` are too coarse for one stream of 50 chunks a second.
  const ns = threads.map((file) => Number((quietly(() => readFileSync(file, 'utf8')) ?? '0').split(' ')[0]));
  return ns.reduce((sum, one) => sum + one, 0) / 1_000;
}

/** Resident memory of several trees; what processes of one share counts in each. */
export function treeMb(roots: readonly number[]): number {
  return roots.flatMap(treeOf).reduce((sum, pid) => sum + (quietly(() => residentMb(pid)) ?? 0), 0);
}

/** Makes all processes of several trees stand still, or go on. */
export function signalTrees(roots: readonly number[], signal: 'SIGSTOP' | 'SIGCONT'): void {
  for (const pid of roots.flatMap(treeOf)) quietly(() => process.kill(pid, signal));
}

/** A process may end between the listing and the look. */
function quietly<Value>(look: () => Value): Value | null {
  try {
    return look();
  } catch {
    return null;
  }
}
