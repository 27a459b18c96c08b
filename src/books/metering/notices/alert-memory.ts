import type { Clock } from '../../../kernel/clock.ts';
import type { Signer } from '../../../kernel/sign.ts';
import { alertNotice } from './alert-message.ts';
import type { AlertRow } from './alert-store.ts';
import { nextAlerts, type SeenAlert } from './next-alerts.ts';
import type { SendToReceiver } from './notice-delivery.ts';
import type { Notice } from './notice-store.ts';

/** Alerts that one process knows of, and reports, while the database cannot be used. */
export interface AlertMemory {
  /** These are the rows of the database now. */
  shared(rows: readonly AlertRow[]): void;
  /** The rows of the database with what was reported from here since; `unshared`: the latter alone. */
  joined(rows: readonly AlertRow[]): { rows: AlertRow[]; unshared: AlertRow[] };
  /** Reports what is new, and that the database is away. */
  report(seen: readonly SeenAlert[], settings: { receivers: readonly string[]; quietMs: number }): void;
  /** Sends what was reported. What does not arrive is sent again at the next call, with the same id. Never rejects. */
  deliver(): Promise<void>;
}

export interface AlertMemoryParts {
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

export function createAlertMemory({ send, signer, clock, onTrouble }: AlertMemoryParts) {
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
