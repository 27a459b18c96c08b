// What one request pays for its reservation and its usage event, by where the ledger commits.
// node bench/ledger/commit-cost.ts [requests]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bucketsOf } from '../../src/books/metering/counter-scope.ts';
import type { ReservationRow, UsageEvent } from '../../src/books/metering/ledger.ts';
import { crashedEvent } from '../../src/books/metering/settlement.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { openSqliteLedger } from '../../src/stores/sqlite/ledger.ts';
import { eventOf, reservation } from './rows.ts';
import { openThreadLedger } from './thread-ledger.ts';

interface Books {
  open(row: ReservationRow): Promise<void>;
  close(event: UsageEvent): void;
  shutdown(): Promise<void>;
}

interface Figures {
  /** CPU of the main thread, µs a request. */
  main: number;
  /** CPU of the whole process. */
  all: number;
  requestsPerSecond: number;
  openP50Ms: number;
  openP99Ms: number;
  openMaxMs: number;
}

const variants: Record<string, (dir: string) => Books> = {
  none: () => ({ open: () => Promise.resolve(), close() {}, shutdown: () => Promise.resolve() }),
  loop: (dir) =>
    openSqliteLedger({
      file: join(dir, 'ledger.db'),
      bootId: 'bench',
      clock: systemClock,
      chargeCrashed: crashedEvent,
      bucketsOf,
      onTrouble: (message) => console.error(message),
    }),
  thread: (dir) => openThreadLedger(join(dir, 'ledger.db')),
};

/** Stands for the rest of the request's work, so that turns of the loop are as long as a gateway's. */
function work(us: number): void {
  const end = performance.now() + us / 1_000;
  while (performance.now() < end);
}

async function measure(books: Books, concurrency: number, requests: number): Promise<Figures> {
  const waits = new Float64Array(requests);
  let started = 0;
  const caller = async () => {
    while (started < requests) {
      const at = started;
      started += 1;
      const row = reservation();
      work(15);
      const beforeMs = performance.now();
      await books.open(row);
      waits[at] = performance.now() - beforeMs;
      // The upstream's answer, in another turn.
      await new Promise((resolve) => setTimeout(resolve, 1));
      work(15);
      books.close(eventOf(row));
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  };
  const startMs = performance.now();
  const mainBefore = process.threadCpuUsage();
  const allBefore = process.cpuUsage();
  await Promise.all(Array.from({ length: concurrency }, caller));
  const main = process.threadCpuUsage(mainBefore);
  const all = process.cpuUsage(allBefore);
  const tookMs = performance.now() - startMs;
  waits.sort();
  return {
    main: (main.user + main.system) / requests,
    all: (all.user + all.system) / requests,
    requestsPerSecond: (requests / tookMs) * 1_000,
    openP50Ms: waits[Math.floor(requests * 0.5)]!,
    openP99Ms: waits[Math.floor(requests * 0.99)]!,
    openMaxMs: waits[requests - 1]!,
  };
}

const requests = Number(process.argv[2] ?? 30_000);
console.log('| c | commits in | main µs | over none | process µs | over none | req/s | open p50 / p99 / max ms |');
console.log('|---|---|---|---|---|---|---|---|');
for (const concurrency of [10, 64]) {
  let base: Figures | null = null;
  for (const [name, open] of Object.entries(variants)) {
    const dir = mkdtempSync(join(tmpdir(), 'culvert-ledger-'));
    const books = open(dir);
    await measure(books, concurrency, requests / 10);
    const figures = await measure(books, concurrency, requests);
    await books.shutdown();
    rmSync(dir, { recursive: true });
    base ??= figures;
    const over = (key: 'main' | 'all') => (figures[key] - base![key]).toFixed(1);
    console.log(
      `| ${concurrency} | ${name} | ${figures.main.toFixed(1)} | ${over('main')} | ${figures.all.toFixed(1)} | ${over('all')} | ${figures.requestsPerSecond.toFixed(0)} | ${figures.openP50Ms.toFixed(2)} / ${figures.openP99Ms.toFixed(2)} / ${figures.openMaxMs.toFixed(1)} |`,
    );
  }
}
