// Loaded into the gateway by NODE_OPTIONS: SIGUSR2 begins to count what its main thread allocates, and the next one writes
// the bytes to the file that CULVERT_ALLOCATIONS names.
import { writeFileSync } from 'node:fs';
import { GCProfiler, getHeapStatistics } from 'node:v8';
import { isMainThread } from 'node:worker_threads';

const used = () => getHeapStatistics().used_heap_size;
let counted = null;

if (isMainThread) process.on('SIGUSR2', countOrTell);

function countOrTell() {
  if (counted === null) {
    counted = { profiler: new GCProfiler(), lastBytes: 0 };
    counted.profiler.start();
    counted.lastBytes = used();
    return;
  }
  const endBytes = used();
  let { lastBytes } = counted;
  let bytes = 0;
  // What is there before a collection and was not there after the one before has been allocated meanwhile.
  for (const { beforeGC, afterGC } of counted.profiler.stop().statistics) {
    bytes += beforeGC.heapStatistics.usedHeapSize - lastBytes;
    lastBytes = afterGC.heapStatistics.usedHeapSize;
  }
  counted = null;
  writeFileSync(process.env.CULVERT_ALLOCATIONS, String(bytes + endBytes - lastBytes));
}
