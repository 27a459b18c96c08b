import type { Clock } from '../../../kernel/clock.ts';
import type { Signer } from '../../../kernel/sign.ts';
import { alertNotice } from './alert-message.ts';
import type { AlertRow, AlertStore } from './alert-store.ts';
import { nextAlerts, type SeenAlert } from './next-alerts.ts';
import type { SendToReceiver } from './notice-delivery.ts';
import type { Notice } from './notice-store.ts';

export interface AlertSettings {
  /** Names of the receivers. While it is empty, nothing is checked. */
  receivers: readonly string[];
  everyMs: number;
  /** Pause between two reports of the same alert. */
  quietMs: number;
}

/**
 * Checks for problems and reports each once, whichever process sees it first; and reports its end once. While the
 * database cannot be used, each process reports what it sees itself; ends wait until the database is back.
 */
export type Alerts = ReturnType<typeof createAlerts>;

export interface AlertParts extends AlertMemoryParts {
  store: AlertStore;
  look(): Promise<readonly SeenAlert[]>;
  settings(): AlertSettings;
  /** Notices were queued. */
  onQueued(): void;
}

/** A problem that this many looks did not find is over: other processes may see what this one does not. */
const looksUntilOver = 4;
const idleMs = 15_000;

export function createAlerts(parts: AlertParts) {
  const { onTrouble } = parts;
  const turn = createAlertTurns(parts);
  let timer: NodeJS.Timeout | null = null;
  let stopped = false;
  let running = Promise.resolve();
  let inTrouble = false;

  async function run(): Promise<void> {
    try {
      await turn();
      inTrouble = false;
    } catch (error) {
      if (!inTrouble && !stopped) onTrouble(`alerts cannot be checked: ${String(error)}`);
      inTrouble = true;
    }
    if (!stopped) schedule();
  }

  function schedule(): void {
    const { receivers, everyMs } = parts.settings();
    const waitMs = receivers.length === 0 ? idleMs : everyMs;
    timer = setTimeout(() => {
      running = run();
    }, waitMs).unref();
  }

  return {
    start: schedule,
    /** Resolves when no look is under way. */
    async stop(): Promise<void> {
      stopped = true;
      if (timer !== null) clearTimeout(timer);
      await running;
    },
  };
}

/** One look, and what it reports. Rejects when the database cannot be used; the reports went out from memory then. */
export function createAlertTurns(parts: AlertParts): () => Promise<void> {
  const { store, clock, onQueued } = parts;
  /** A process that has only just begun, or was alone for a while, does not know the lasting problems. */
  let looks = 0;
  const memory = createAlertMemory(parts);

  async function share(seen: readonly SeenAlert[], settings: AlertSettings): Promise<void> {
    const { receivers, quietMs, everyMs } = settings;
    const nowMs = clock.wallMs();
    const overMs = looks > looksUntilOver ? nowMs - everyMs * looksUntilOver : null;
    let known: AlertRow[] = [];
    const queued = await store.change((shared) => {
      const { rows, unshared } = memory.joined(shared);
      const { write, forget, raised, resolved } = nextAlerts(rows, seen, { nowMs, overMs, quietMs });
      const hasChanges = raised.length + resolved.length > 0;
      const notices = hasChanges ? receivers.map((to) => alertNotice(to, { raised, resolved }, nowMs)) : [];
      const written = byName([...unshared, ...write]);
      known = [...byName([...rows, ...written.values()]).values()].filter(({ name }) => !forget.includes(name));
      return { write: [...written.values()], forget, notices };
    });
    memory.shared(known);
    if (queued > 0) onQueued();
  }

  return async () => {
    const settings = parts.settings();
    if (settings.receivers.length === 0) return;
    const seen = await parts.look();
    looks += 1;
    try {
      await share(seen, settings);
    } catch (error) {
      looks = 0;
      memory.report(seen, settings);
      throw error;
    } finally {
      await memory.deliver();
    }
  };
}

/** The last one of each name. */
function byName(rows: readonly AlertRow[]): Map<string, AlertRow> {
  return new Map(rows.map((row) => [row.name, row]));
}

/** Alerts that one process knows of, and reports, while the database cannot be used. */
interface AlertMemory {
  /** These are the rows of the database now. */
  shared(rows: readonly AlertRow[]): void;
  /** The rows of the database with what was reported from here since; `unshared`: the latter alone. */
  joined(rows: readonly AlertRow[]): { rows: AlertRow[]; unshared: AlertRow[] };
  /** Reports what is new, and that the database is away. */
  report(seen: readonly SeenAlert[], settings: { receivers: readonly string[]; quietMs: number }): void;
  /** Sends what was reported. What does not arrive is sent again at the next call, with the same id. Never rejects. */
  deliver(): Promise<void>;
}

interface AlertMemoryParts {
  /** Sends a report that could not be queued. */
  send: SendToReceiver;
  /** For ids of such reports, which replicas with the same secret share. */
  signer: Pick<Signer, 'sign'>;
  clock: Clock;
  onTrouble(message: string): void;
}

/** Alerts of one process; beyond it the rest is not reported. */
const alertsMax = 1_000;
/** Messages that wait for their receivers; beyond it the oldest are dropped. */
const messagesMax = 100;
const windowMinMs = 1_000;
const idChars = 24;

const databaseAway: SeenAlert = {
  name: 'database',
  severity: 'problem',
  text: 'The database cannot be used, and requests that cost quota are refused.',
  fix: 'Check the database and its disk. The log of Culvert and "culvert doctor" say why.',
};

function createAlertMemory({ send, signer, clock, onTrouble }: AlertMemoryParts) {
  /** By name, as of the last commit. */
  let known = new Map<string, AlertRow>();
  let unshared = new Map<string, AlertRow>();
  let waiting: { receiver: string; notice: Notice }[] = [];
  let failing = false;

  /**
   * Replicas that see the same within one quiet time send one id, so that a receiver takes one of them. Nobody reports
   * an alert twice within that time.
   */
  function idOf(receiver: string, raised: readonly AlertRow[], windowAt: number): string {
    const names = raised.map(({ name, severity }) => `${severity} ${name}`).toSorted();
    return `msg_${signer.sign(JSON.stringify([receiver, windowAt, names])).slice(0, idChars)}`;
  }

  const memory: AlertMemory = {
    shared(rows) {
      known = new Map(rows.map((row) => [row.name, row]));
      unshared = new Map();
    },
    joined(rows) {
      const all = new Map(rows.map((row) => [row.name, row]));
      // Another process may have come back, and reported, sooner.
      const newer = [...unshared.values()].filter(({ name, seenMs }) => seenMs > (all.get(name)?.seenMs ?? 0));
      for (const row of newer) all.set(row.name, row);
      return { rows: [...all.values()], unshared: newer };
    },
    report(seen, { receivers, quietMs }) {
      const nowMs = clock.wallMs();
      const { rows } = memory.joined([...known.values()]);
      const all = [databaseAway, ...seen].slice(0, alertsMax);
      // What is not seen may still last: another process may see it.
      const { write, raised } = nextAlerts(rows, all, { nowMs, overMs: null, quietMs });
      for (const row of write) unshared.set(row.name, row);
      if (raised.length === 0) return;
      const windowAt = Math.floor(nowMs / Math.max(quietMs, windowMinMs));
      const about = (row: AlertRow) => row.name === databaseAway.name;
      // The database alone: what else they see differs between replicas, and so does its id.
      const groups = [raised.filter(about), raised.filter((row) => !about(row))].filter(({ length }) => length > 0);
      const messages = receivers.flatMap((to) =>
        groups.map((rows) => {
          const notice = alertNotice(to, { raised: rows, resolved: [] }, nowMs);
          return { receiver: to, notice: { ...notice, id: idOf(to, rows, windowAt) } };
        }),
      );
      waiting = [...waiting, ...messages].slice(-messagesMax);
    },
    async deliver() {
      const sent = await Promise.all(
        waiting.map(({ receiver, notice }) =>
          send(receiver, notice).then(
            () => true,
            (error: unknown) => {
              if (!failing) onTrouble(`alerts to ${receiver} do not arrive, and are tried again: ${String(error)}`);
              failing = true;
              return false;
            },
          ),
        ),
      );
      if (sent.includes(true)) failing = false;
      waiting = waiting.filter((_, at) => !sent[at]);
    },
  };
  return memory;
}
