import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type CulvertStart, launchCulvert } from '../gateway/processes.ts';
import { createGatewayClient, type GatewayClient } from './gateway-client.ts';

/** A gateway in a process of its own that tells how its main thread fares. */
export interface RunningGateway {
  pid: number;
  port: number;
  client: GatewayClient;
  /** Since they were asked last. */
  facts(): Promise<ThreadFacts>;
  stop(): Promise<void>;
}

export interface ThreadFacts {
  /** How late the event loop was. */
  p99Ms: number;
  maxMs: number;
  /** In use after a collection. */
  heapMb: number;
}

const firstAnswerMaxMs = 60_000;

/** Resolves when it answers. */
export async function startWatchedGateway(order: CulvertStart & { folder: string }): Promise<RunningGateway> {
  const file = join(order.folder, 'loop-delay.json');
  const { child, port } = await launchCulvert({
    ...order,
    env: {
      ...order.env,
      NODE_OPTIONS: `--import=${fileURLToPath(new URL('./loop-delay.mjs', import.meta.url))}`,
      CULVERT_BENCH_LOOP_DELAY: file,
    },
  });
  const client = createGatewayClient(port);
  const untilMs = performance.now() + firstAnswerMaxMs;
  for (;;) {
    const up = await client.send('GET', '/healthz').then(
      () => true,
      () => false,
    );
    if (up) break;
    if (performance.now() > untilMs) throw new Error('the gateway did not start');
    await pause(2);
  }
  return {
    pid: child.pid!,
    port,
    client,
    async facts() {
      rmSync(file, { force: true });
      process.kill(child.pid!, 'SIGUSR2');
      for (;;) {
        await pause(10);
        try {
          return JSON.parse(readFileSync(file, 'utf8')) as ThreadFacts;
        } catch {
          // Not written yet, or not whole.
        }
      }
    },
    async stop() {
      client.close();
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await gone;
    },
  };
}
