// How much memory V8 takes for what it saves. Plain JavaScript for Node 18+, as culvert.mjs.
import { constants, PerformanceObserver, performance } from 'node:perf_hooks';
import v8 from 'node:v8';
import vm from 'node:vm';

/** A start keeps most of what it allocates: collections during it took 20 ms of its 500. */
const startMs = 5_000;
const youngUsualBytes = 32 * 1024 * 1024;
const youngMostBytes = 64 * 1024 * 1024;
/** By so many more looks was a third of it full than was not. The first requests of a process make up to five. */
const fullMost = 8;
const lookMs = 200;
const restLookMs = 5_000;
/** Share of its time in which a process that rests does anything. */
const restShare = 0.05;

/** To be called first of all: the young generation grows during the start. */
export function keepMemorySmall() {
  leaveYoungWhatIsNew();
  freeCompilersAtOnce();
  sizeYoungGeneration();
  setTimeout(collectOldSoon, startMs).unref();
  giveBackAtRest();
}

/**
 * V8 makes objects of a place in the code in the old generation from the start, once most of those it made there outlived two
 * collections. Where many requests run at once, that is so for a moment. From then on each request leaves what it made, and
 * all that this refers to, to the next full collection (docs/decisions/0065).
 */
function leaveYoungWhatIsNew() {
  v8.setFlagsFromString('--no-allocation-site-pretenuring');
}

/**
 * What a compilation of V8's middle compiler took is freed by another thread, later. So many of them wait that `malloc` keeps
 * 45 MB for them, for ever.
 */
function freeCompilersAtOnce() {
  v8.setFlagsFromString('--no-maglev-destroy-on-background');
}

/**
 * V8 lets the old generation double before it collects it, and pages that were used once stay resident. Measured over
 * 100,000 requests: 193 to 198 MB instead of 214, ten more collections, 1.3 µs a request. Realtime sessions lift it
 * (`src/kernel/threads/old-generation.ts`).
 */
function collectOldSoon() {
  v8.setFlagsFromString('--heap-growing-percent=20');
}

/**
 * V8 lets its young generation grow with the machine's memory, to 128 MB here, which costs memory and saves a gateway
 * nothing while few requests run at once. Its limit is fixed once the process runs, but by how much it grows at once is
 * not: to what is enough, and again after V8 has shrunk it at rest (by doubling, eight callers would cost 1.5 times as much
 * for 10,000 requests, since little of theirs outlives a collection). Measured at 100,000 requests: stopped at 32 MB they
 * cost 100 µs of CPU each and 190 to 250 MB of memory; at 8 MB 130 µs and 205 to 280 MB, since more is taken for old; never
 * stopped 100 µs and 305 to 340 MB.
 *
 * With hundreds of requests at once, each collection finds most of it alive, copies that, and takes it for old: 512
 * callers cost 270 µs each in 32 MB, 155 in 64. So it may double wherever a third outlives most collections
 * (docs/decisions/0061).
 */
function sizeYoungGeneration() {
  let enoughBytes = youngUsualBytes;
  let full = 0;
  let factor = 0;
  // During the start it doubles: in one step it took 20 MB more for nothing.
  const stepMost = () => (process.uptime() * 1_000 < startMs ? 2 : youngUsualBytes);
  const regulate = ({ space_size }) => {
    // V8 has shrunk it.
    if (space_size < youngUsualBytes) enoughBytes = youngUsualBytes;
    const next = Math.max(1, Math.min(stepMost(), Math.floor(enoughBytes / space_size)));
    if (next === factor) return;
    factor = next;
    v8.setFlagsFromString(`--semi-space-growth-factor=${factor}`);
  };
  const collections = new PerformanceObserver((list) => {
    if (list.getEntries().every(({ detail }) => detail.kind !== constants.NODE_PERFORMANCE_GC_MINOR)) return;
    const young = youngSpace();
    // Half of it is empty until the next collection copies to there.
    full = Math.max(0, full + (young.space_used_size > young.space_size / 6 ? 1 : -1));
    if (full >= fullMost) {
      enoughBytes = Math.min(youngMostBytes, 2 * young.space_size);
      full = 0;
    }
    regulate(young);
    if (factor === 1) collections.disconnect();
  });
  const look = () => {
    regulate(youngSpace());
    collections.observe({ entryTypes: ['gc'] });
  };
  look();
  setInterval(look, lookMs).unref();
}

function youngSpace() {
  return v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
}

/**
 * A process that was busy keeps its heap as large as it was: V8's memory reducer begins only after a full collection, and
 * one at rest makes none. A new context makes it begin. Eight seconds later, if little is allocated, it collects in small
 * steps and gives pages back. Measured after a start: 145 MB resident instead of 195.
 */
function giveBackAtRest() {
  let wasBusy = true;
  let before = performance.eventLoopUtilization();
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const isBusy = performance.eventLoopUtilization(now, before).utilization > restShare;
    before = now;
    if (wasBusy && !isBusy) vm.runInNewContext('0');
    wasBusy = isBusy;
  }, restLookMs).unref();
}
