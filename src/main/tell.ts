import type { Services } from '../inference/endpoints/services.ts';
import type { ModelTable } from '../inference/models/model-table.ts';
import type { Snapshot } from '../inference/models/snapshot.ts';
import type { Health } from '../inference/routing/health.ts';
import type { Target } from '../inference/routing/target.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Ledger, UsageEvent } from '../metering/ledger.ts';
import type { RecordDelivery } from '../metering/record-delivery.ts';
import type { Refusal } from '../metering/refusal.ts';
import type { Refusals } from '../metering/refusals.ts';
import { type Log, requestLog } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { DiskRoom } from '../stores/disk-room.ts';

/** Who hears of every request that has ended: metrics, a line in the log, and the operator of refused credentials. */
export function tellFinished(
  log: Log,
  metrics: Pick<Metrics, 'finished' | 'attemptFailed'>,
  snapshot: () => Pick<Snapshot, 'models'>,
  aliases: Pick<AliasWatch, 'ended'>,
): Services['finished'] {
  const logRequest = requestLog(log);
  return (event, trace) => {
    const { modelOf, targetOf } = snapshot().models.labels;
    const model = modelOf(event.alias);
    metrics.finished(event, model, targetOf(event.target));
    aliases.ended(model, event);
    const attempts = event.route.attempts.length;
    logRequest(event, attempts, trace?.id ?? null);
    if (event.class === 'ok' && attempts === 1) return;
    for (const attempt of event.route.attempts) {
      if (!isNoFailure.has(attempt.class)) metrics.attemptFailed(targetOf(attempt.target), attempt.class);
      // Failover hides it from every caller, and no retry mends it: the operator must hear of it here.
      if (attempt.class === 'bad_credential' || attempt.class === 'quota_exhausted') {
        const { provider, credential, status: answered } = attempt;
        log.warn(
          {
            requestId: event.requestId,
            trace_id: trace?.id,
            provider,
            credential,
            status: answered,
            class: attempt.class,
          },
          'a credential was refused',
        );
      }
    }
  };
}

/** Classes of attempts that say nothing bad of their target. */
const isNoFailure: ReadonlySet<string> = new Set([
  'ok',
  'cancelled',
  'not_capable',
  'low_quality',
  'too_long',
  'filtered',
]);

/** How long refusals without a line of their own are gathered into one. */
const gatherMs = 1_000;

/** Who hears of a refused request: metrics of each, the log and the books of some (`Refusals`). */
export function tellRefused(
  log: Log,
  metrics: Pick<Metrics, 'refused'>,
  refusals: Pick<Refusals, 'add'>,
): (refusal: Refusal) => void {
  /** Requests without a line of their own: how many, by status and reason. */
  let more: Record<string, number> | null = null;

  function sayMore(): void {
    log.info({ requests: more }, 'more requests were refused');
    more = null;
  }

  return (refusal) => {
    metrics.refused(refusal);
    const { requestId, account, keyId, endpoint, model, status, reason, limit, ms, message, traceId } = refusal;
    if (refusals.add(refusal) === 'line') {
      const what = { status, class: reason, ...(limit !== '' && { limit }), ms, message };
      log.info({ requestId, account, keyId, endpoint, model, ...what, trace_id: traceId ?? undefined }, 'refused');
      return;
    }
    if (more === null) {
      more = {};
      setTimeout(sayMore, gatherMs).unref();
    }
    const name = `${status} ${reason}`;
    more[name] = (more[name] ?? 0) + 1;
  };
}

/** Whether the models of the configuration answer at all. One that does not is an alert. */
export interface AliasWatch {
  /** Counts a request under this label (`MetricLabels.modelOf`). */
  ended(label: string, event: Pick<UsageEvent, 'class' | 'atMs'>): void;
  /** By label: 1 while it is down. */
  down(): Iterable<readonly [label: string, down: 0 | 1]>;
  /** Logs every second what has gone down and what is back. */
  look(): void;
}

/** This many requests in a row that no target answered. */
const failuresInRow = 3;
/** Health alone, without requests, is believed after this many looks: a rest of a second is not an alert. */
const illLooks = 3;
/** Without an answer, a model that is neither ill nor fails a request for this long counts as back. */
const backAfterMs = 60_000;
const namesToldMax = 20;

interface Watched {
  failures: number;
  lastFailureMs: number;
  ill: number;
  down: boolean;
}

/** Ends of requests that say that no target could answer: not those that the request itself caused. */
const noTarget: ReadonlySet<string> = new Set(['upstreams-failed', 'upstreams-limited', 'no-target']);

export function createAliasWatch(parts: {
  models(): ModelTable;
  health: Pick<Health, 'status'>;
  clock: Clock;
  log: Pick<Log, 'error' | 'warn'>;
}): AliasWatch {
  const { models, health, clock, log } = parts;
  /** Models that the table in force names. */
  let watched = new Map<string, Watched>();
  let targets = new Map<string, Target[]>();
  let table: ModelTable | null = null;

  function follow(): void {
    if (table === models()) return;
    table = models();
    const { labels, named } = table;
    targets = new Map(labels.patterns.map((pattern) => [pattern, []]));
    for (const { id, candidates } of named) {
      const label = labels.modelOf(id);
      targets.set(label, [...(targets.get(label) ?? []), ...candidates.map(({ target }) => target)]);
    }
    watched = new Map([...targets.keys()].map((label) => [label, watched.get(label) ?? newlyWatched()]));
  }

  /** A pattern of which no provider lists a model has no health, only requests. */
  function isIll(label: string, nowMs: number): boolean {
    const own = targets.get(label)!;
    return own.length === 0 ? !label.includes('*') : health.status(own, nowMs) === 'down';
  }

  /** Once it is down, only an answer proves that it is back; when nobody asks, time does. */
  function isDown({ failures, ill, down }: Watched): boolean {
    return failures >= failuresInRow || ill >= illLooks || (down && (failures > 0 || ill > 0));
  }

  return {
    ended(label, { class: end, atMs }) {
      if (end === 'ok') {
        const one = watched.get(label);
        if (one !== undefined) one.failures = 0;
      } else if (noTarget.has(end)) {
        follow();
        const one = watched.get(label);
        if (one === undefined) return;
        one.failures += 1;
        one.lastFailureMs = atMs;
      }
    },
    down() {
      follow();
      return [...watched].map(([label, { down }]) => [label, down ? 1 : 0] as const);
    },
    look() {
      follow();
      const nowMs = clock.monotonicMs();
      const wallMs = clock.wallMs();
      const gone: string[] = [];
      const back: string[] = [];
      for (const [label, one] of watched) {
        one.ill = isIll(label, nowMs) ? one.ill + 1 : 0;
        if (one.failures > 0 && one.ill === 0 && wallMs - one.lastFailureMs >= backAfterMs) one.failures = 0;
        const down = isDown(one);
        if (down !== one.down) (down ? gone : back).push(label);
        one.down = down;
      }
      if (gone.length > 0) log.error({ models: gone.slice(0, namesToldMax) }, saidOf(gone, 'down: no target answers'));
      if (back.length > 0) log.warn({ models: back.slice(0, namesToldMax) }, saidOf(back, 'back'));
    },
  };
}

/** Gauges that each scrape reads. */
export function measure(
  metrics: Metrics,
  parts: {
    ledger: Pick<Ledger, 'gauges'>;
    aliases: Pick<AliasWatch, 'down'>;
    sinks: Pick<RecordDelivery, 'standing'>;
    room: Pick<DiskRoom, 'freeBytes'>;
    version: string;
  },
): void {
  const { ledger, aliases, sinks, room, version } = parts;
  metrics.gauge('culvert_ledger_queued_rows', 'Ledger rows that wait for a commit.', () => ledger.gauges().queued);
  metrics.gauge('culvert_open_reservations', 'Reservations that are not settled.', () => ledger.gauges().open);
  metrics.gauges('culvert_model_down', '1 while no target of the model answers.', 'model', aliases.down);
  metrics.gauge('culvert_data_free_bytes', 'Free bytes on the disk of the data folder.', room.freeBytes);
  metrics.gauges('culvert_build_info', '1; the version is in the label.', 'version', () => [[version, 1]]);
  const help = 'Age of the oldest record that a sink has not received, in the process that sends.';
  metrics.gauges('culvert_sink_lag_seconds', help, 'sink', () =>
    sinks.standing().map(({ name, lagMs }) => [name, lagMs / 1_000] as const),
  );
}

function newlyWatched(): Watched {
  return { failures: 0, lastFailureMs: 0, ill: 0, down: false };
}

function saidOf(labels: readonly string[], what: string): string {
  const names = labels.slice(0, namesToldMax).map((label) => `'${label}'`);
  const more = labels.length > namesToldMax ? ` and ${labels.length - namesToldMax} more` : '';
  return `${labels.length === 1 ? 'model' : 'models'} ${names.join(', ')}${more} ${labels.length === 1 ? 'is' : 'are'} ${what}`;
}
