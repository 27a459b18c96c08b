import { type ChildProcess, fork } from 'node:child_process';

/** When each call came in that has ended, wall-clock ms, by the credential that it carried. */
export type UpstreamCounts = Record<string, number[]>;

/** The mock in a process of its own. */
export interface MockProcess {
  port: number;
  /** Requests that have come in and ended so far; do not ask while it hangs. */
  counts(): Promise<UpstreamCounts>;
  /** Connections stand, and nothing is answered any more. */
  hang(): void;
  goOn(): void;
  stop(): void;
}

/** A hung one would outlive its parent. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export async function startMock(): Promise<MockProcess> {
  const child: ChildProcess = fork(new URL('./upstream.ts', import.meta.url));
  running.add(child);
  const waiting: ((counts: UpstreamCounts) => void)[] = [];
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message) => resolve((message as { port: number }).port));
    child.once('error', reject);
  });
  child.on('message', (counts) => waiting.shift()?.(counts as UpstreamCounts));
  return {
    port,
    counts: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        child.send('counts');
      }),
    hang: () => void child.kill('SIGSTOP'),
    goOn: () => void child.kill('SIGCONT'),
    stop: () => void child.kill('SIGKILL'),
  };
}
