import { type AlertMemoryParts, createAlertMemory } from './alert-memory.ts';
import { alertNotice } from './alert-message.ts';
import type { AlertRow, AlertStore } from './alert-store.ts';
import { nextAlerts, type SeenAlert } from './next-alerts.ts';

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
