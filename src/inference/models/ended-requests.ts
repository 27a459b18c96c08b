import type { UsageEvent } from '../../books/metering/ledger.ts';
import type { Clock } from '../../kernel/clock.ts';
import { knownEntry } from '../../kernel/known-entry.ts';
import type { Trace } from '../../kernel/trace.ts';
import type { Health } from '../../routing/health.ts';
import type { Target } from '../../routing/target.ts';
import type { ModelTable } from './model-table.ts';
import type { Snapshot } from './snapshot.ts';

type Report = (facts: object, message: string) => void;

interface RequestMetrics {
  finished(event: UsageEvent, model: string, target: string): void;
  attemptFailed(target: string, end: string): void;
}

/** Listener of every request that has ended: metrics, a line in the log, and the operator of refused credentials. */
export function reportFinished(
  parts: {
    log: { warn: Report; isLevelEnabled(level: 'info'): boolean };
    /** Writes the line of a request. Called while the log shows `info`. */
    logRequest(event: UsageEvent, attempts: number, traceId: string | null): void;
    metrics: RequestMetrics;
    aliases: Pick<AliasWatch, 'ended'>;
  },
  snapshots: { readonly current: Pick<Snapshot, 'models'> },
  /** Live: the hooks of the configuration in force that want each settled request; null: none does. */
  hooks: { readonly settled: ((event: UsageEvent) => void) | null },
): (event: UsageEvent, trace: Trace | null) => void {
  const { log, logRequest, metrics, aliases } = parts;
  return (event, trace) => {
    const { modelOf, targetOf } = snapshots.current.models.labels;
    const model = modelOf(event.alias);
    metrics.finished(event, model, targetOf(event.target));
    aliases.ended(model, event);
    if (hooks.settled !== null) hooks.settled(event);
    const attempts = event.route.attempts.length;
    if (log.isLevelEnabled('info')) logRequest(event, attempts, trace?.id ?? null);
    if (event.class === 'ok' && attempts === 1) return;
    for (const attempt of event.route.attempts) {
      if (!isNoFailure.has(attempt.class)) metrics.attemptFailed(targetOf(attempt.target), attempt.class);
      // Failover hides it from every caller, and no retry mends it: so the operator must learn it here.
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
  'caller_credential',
  'not_capable',
  'low_quality',
  'too_long',
  'filtered',
]);

/** Whether the models of the configuration answer at all. One that does not is an alert. */
export interface AliasWatch {
  /** Counts a request under this label (`MetricLabels.modelOf`). */
  ended(label: string, event: Pick<UsageEvent, 'class'>): void;
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
const namesListedMax = 20;

interface Watched {
  failures: number;
  /** Monotonic. */
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
  log: { error: Report; warn: Report };
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
      const known = targets.get(label) ?? [];
      for (const { target } of candidates) known.push(target);
      targets.set(label, known);
    }
    watched = new Map([...targets.keys()].map((label) => [label, watched.get(label) ?? newlyWatched()]));
  }

  /** A pattern of which no provider lists a model has no health, only requests. */
  function isIll(label: string, nowMs: number): boolean {
    const labelTargets = knownEntry(targets, label);
    return labelTargets.length === 0 ? !label.includes('*') : health.status(labelTargets, nowMs) === 'down';
  }

  return {
    ended(label, { class: end }) {
      if (end === 'ok') {
        const one = watched.get(label);
        if (one !== undefined) one.failures = 0;
      } else if (noTarget.has(end)) {
        follow();
        const one = watched.get(label);
        if (one === undefined) return;
        one.failures += 1;
        // Not its arrival: with slow targets that is older than `backAfterMs`, and each failure would be forgotten at once.
        one.lastFailureMs = clock.monotonicMs();
      }
    },
    down() {
      follow();
      return [...watched].map(([label, { down }]) => [label, down ? 1 : 0] as const);
    },
    look() {
      follow();
      const nowMs = clock.monotonicMs();
      const forgotten: string[] = [];
      const back: string[] = [];
      for (const [label, one] of watched) {
        one.ill = isIll(label, nowMs) ? one.ill + 1 : 0;
        if (one.failures > 0 && one.ill === 0 && nowMs - one.lastFailureMs >= backAfterMs) one.failures = 0;
        const down = isDown(one);
        if (down !== one.down) (down ? forgotten : back).push(label);
        one.down = down;
      }
      if (forgotten.length > 0)
        log.error({ models: forgotten.slice(0, namesListedMax) }, sentenceOf(forgotten, 'down: no target answers'));
      if (back.length > 0) log.warn({ models: back.slice(0, namesListedMax) }, sentenceOf(back, 'back'));
    },
  };
}

/** Once it is down, only an answer proves that it is back; when nobody asks, time does. */
function isDown({ failures, ill, down }: Watched): boolean {
  return failures >= failuresInRow || ill >= illLooks || (down && (failures > 0 || ill > 0));
}

function newlyWatched(): Watched {
  return { failures: 0, lastFailureMs: 0, ill: 0, down: false };
}

function sentenceOf(labels: readonly string[], what: string): string {
  const names = labels.slice(0, namesListedMax).map((label) => `'${label}'`);
  const more = labels.length > namesListedMax ? ` and ${labels.length - namesListedMax} more` : '';
  return `${labels.length === 1 ? 'model' : 'models'} ${names.join(', ')}${more} ${labels.length === 1 ? 'is' : 'are'} ${what}`;
}
