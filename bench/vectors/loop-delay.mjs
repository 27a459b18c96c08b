// Loaded into the gateway by NODE_OPTIONS: at SIGUSR2 writes how late its loop was since the last time, and what of the
// main thread's heap is in use.
import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

const file = process.env.CULVERT_BENCH_LOOP_DELAY;
if (isMainThread && file !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  process.on('SIGUSR2', () => {
    const late = { p99Ms: delay.percentile(99) / 1e6, maxMs: delay.max / 1e6 };
    delay.disable();
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc');
    for (let round = 0; round < 3; round += 1) collect();
    writeFileSync(file, JSON.stringify({ ...late, heapMb: process.memoryUsage().heapUsed / 2 ** 20 }));
    delay.reset();
    delay.enable();
  });
}
