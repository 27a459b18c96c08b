import type { Counters } from '../../books/metering/counters.ts';
import type { RecordStore, SinkFailure } from '../../books/metering/record-store.ts';
import type { SharedTally, Tallied } from '../../books/metering/tally.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import { putNewest } from '../../kernel/put-newest.ts';
import type { Log } from '../../observe/log.ts';
import type { DataFolder } from '../../stores/sqlite/data-folder.ts';
import { lookForDamage } from '../../stores/sqlite/integrity.ts';
import { refuseNewerDatabases } from '../../stores/sqlite/stores.ts';
import type { SharedPace } from '../../tools/crawl/shared-pace.ts';
import type { BooksStanding } from '../books-offers.ts';
import type { BooksOfWorkers } from '../workers.ts';
import { createCoreWatch } from './core-watch.ts';
import { createDesk, withPeriods } from './desk.ts';
import { openEmbeddedBooks } from './embedded-books.ts';
import { callPorts } from './ports.ts';

/** Limits and ledger of the embedded storage, for all workers of this server. */
export interface PrimaryBooks extends BooksOfWorkers {
  /** Calls back whenever the standing is another one. */
  watch(onChange: () => void): void;
  /** After the last worker. */
  close(): Promise<void>;
}

const lookMs = 1_000;

interface PrimaryBooksParts {
  config: Config;
  folder: DataFolder;
  bootId: string;
  clock: Clock;
  log: Log;
}

/** Opens the ledger, and charges what an earlier start left open. */
export async function openPrimaryBooks(parts: PrimaryBooksParts): Promise<PrimaryBooks> {
  const { config, folder, bootId, clock, log } = parts;
  refuseNewerDatabases(folder.path);
  const onTrouble = (message: string, level: 'error' | 'info' = 'error') => log[level](message);
  /** Bodies of events that are about to be written. */
  const bodies = new Map<string, string>();
  const bodiesOf = (requestId: string) => {
    const sentBodies = bodies.get(requestId) ?? null;
    bodies.delete(requestId);
    return sentBodies;
  };
  const order = config.telemetry.sinks.length > 0 ? { bodiesOf } : undefined;
  const { ledger, counters } = await openEmbeddedBooks({ folder, bootId, clock, order, onTrouble });
  const requests = await ledger.recover();
  if (requests > 0) log.warn({ requests }, 'requests of a crashed process were charged with their estimates');
  const damage = lookForDamage({ folder, notify: onTrouble });
  const tally = createTally(clock);
  const pace = createPace();
  const { experiments, statements } = ledger;
  const ports = { counters: ofSentLimits(counters), ledger, experiments, statements, tally, pace };
  const senders: Senders = new Map();
  const load = createCoreWatch((message) => log.warn(message));
  let stopWatching = () => {};

  const standing = (): BooksStanding => ({
    ledger: ledger.trouble(),
    counters: counters.trouble(),
    damage: damage.trouble,
    overload: load.trouble(),
    queued: ledger.gauges().queued,
    dropped: ledger.gauges().dropped,
  });

  return {
    desk(delivered) {
      const name = {};
      const call = callPorts({ ...ports, records: ofOneSender(ledger.records, senders, name) });
      const onBodies = (id: string, text: string) => bodies.set(id, text);
      const desk = createDesk({ ledger, counters, bootId, call, onBodies, delivered });
      return {
        ...desk,
        async lost() {
          for (const [sink, { desk }] of senders) if (desk === name) senders.delete(sink);
          return desk.lost();
        },
      };
    },
    standing,
    watch(onChange) {
      stopWatching = watchStanding(standing, load.look, onChange);
    },
    async close() {
      stopWatching();
      await damage.stop();
      await counters.close();
      await ledger.shutdown();
    },
  };
}

function watchStanding(standing: () => BooksStanding, look: () => void, onChange: () => void): () => void {
  let before = JSON.stringify(standing());
  return every(lookMs, () => {
    look();
    const now = JSON.stringify(standing());
    if (now === before) return;
    before = now;
    onChange();
  });
}

/** For limits that came over a link. */
function ofSentLimits(counters: Counters): Pick<Counters, 'read' | 'running'> {
  return {
    read: (account, limits) => counters.read(account, withPeriods(limits)),
    running: (account, scopes) => counters.running(account, scopes),
  };
}

/** The desk that sends records to each sink, and why it cannot. */
type Senders = Map<string, { desk: object; failure: SinkFailure | null }>;

/** Each sink gets its records from one worker at a time. */
function ofOneSender(records: RecordStore, senders: Senders, desk: object): RecordStore {
  return {
    ...records,
    async take(sink, leaseMs) {
      const sender = senders.get(sink) ?? { desk, failure: null };
      if (sender.desk !== desk) return null;
      senders.set(sink, sender);
      return records.take(sink, leaseMs);
    },
    async failed(sink, failure) {
      if (senders.get(sink)?.desk === desk) senders.set(sink, { desk, failure });
    },
    failure: async (sink) => senders.get(sink)?.failure ?? null,
    async letGo(sink) {
      if (senders.get(sink)?.desk === desk) senders.delete(sink);
      await records.letGo(sink);
    },
  };
}

/** Hosts whose next turn is known. */
const hostsMax = 10_000;

/** The pace at hosts that the crawls of all workers keep together. */
function createPace(): SharedPace {
  const turns = new Map<string, number>();
  return {
    async take(host, delayMs, nowMs) {
      const turnMs = Math.max(nowMs, turns.get(host) ?? 0);
      putNewest(turns, host, turnMs + delayMs, hostsMax);
      return turnMs - nowMs;
    },
  };
}

/** Names that are counted at a time; beyond them the oldest is forgotten. */
const talliesMax = 20_000;

function createTally(clock: Clock): SharedTally {
  const counts = new Map<string, { count: number; endsMs: number }>();
  function present(name: string): Tallied {
    const found = counts.get(name);
    const leftMs = found === undefined ? 0 : found.endsMs - clock.monotonicMs();
    return found === undefined || leftMs <= 0 ? { count: 0, leftMs: 0 } : { count: found.count, leftMs };
  }
  return {
    read: async (names) => names.map(present),
    async add(names, windowMs) {
      return names.map((name) => {
        const { count, leftMs } = present(name);
        const next = { count: count + 1, leftMs: count === 0 ? windowMs : leftMs };
        putNewest(counts, name, { count: next.count, endsMs: clock.monotonicMs() + next.leftMs }, talliesMax);
        return next;
      });
    },
  };
}
