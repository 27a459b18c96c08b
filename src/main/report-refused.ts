import type { Ledger } from '../books/metering/ledger.ts';
import type { RecordDelivery } from '../books/metering/record-delivery.ts';
import type { Refusal } from '../books/metering/refusal.ts';
import type { Refusals } from '../books/metering/refusals.ts';
import type { GatewayServer } from '../http/server.ts';
import type { AliasWatch } from '../inference/models/ended-requests.ts';
import type { AnswerCache } from '../inference/spine/answer-cache.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { DiskRoom } from '../stores/disk-room.ts';

/** How long refusals without their own line are gathered into one. */
const gatherMs = 1_000;

/** Reports refused requests: each to the metrics, some to the log and the books (`Refusals`). */
export function reportRefused(
  log: Log,
  metrics: Pick<Metrics, 'refused'>,
  refusals: Pick<Refusals, 'add'>,
): (refusal: Refusal) => void {
  /** Requests without their own line: how many, by status and reason. */
  let more: Record<string, number> | null = null;

  function logMore(): void {
    log.info({ requests: more }, 'more requests were refused');
    more = null;
  }

  return (refusal) => {
    metrics.refused(refusal);
    const { requestId, account, keyId, endpoint, model, status, reason, limit, ms, message } = refusal;
    if (refusals.add(refusal) === 'line') {
      const what = { status, class: reason, ...(limit !== '' && { limit }), ms, message };
      const ids = { requestId, clientRequestId: refusal.clientRequestId ?? undefined };
      const trace = { trace_id: refusal.traceId ?? undefined };
      log.info({ ...ids, account, keyId, endpoint, model, ...what, ...trace }, 'refused');
      return;
    }
    if (more === null) {
      more = {};
      setTimeout(logMore, gatherMs).unref();
    }
    const name = `${status} ${reason}`;
    more[name] = (more[name] ?? 0) + 1;
  };
}

/** How busy the loop of this process is. */
export function measureLoad(metrics: Pick<Metrics, 'gauge'>, { load }: Pick<GatewayServer, 'load'>): void {
  const late = 'How late the event loop was when it was last looked at, while requests come.';
  metrics.gauge('culvert_loop_delay_seconds', late, 'max', () => load.lateMs / 1_000);
  metrics.gauge('culvert_waiting_requests', 'Requests that wait for the loop.', 'sum', () => load.waiting);
}

/** Gauges that each scrape reads. */
export function measure(
  metrics: Metrics,
  parts: {
    ledger: Pick<Ledger, 'gauges'>;
    aliases: Pick<AliasWatch, 'down'>;
    sinks: Pick<RecordDelivery, 'standing'>;
    room: Pick<DiskRoom, 'freeBytes'>;
    cache: Pick<AnswerCache, 'waiting'>;
    version: string;
  },
): void {
  const { ledger, aliases, sinks, room, cache, version } = parts;
  metrics.gauge(
    'culvert_ledger_queued_rows',
    'Ledger rows that wait for a commit.',
    'sum',
    () => ledger.gauges().queued,
  );
  metrics.gauge('culvert_open_reservations', 'Reservations that are not settled.', 'sum', () => ledger.gauges().open);
  metrics.gauges('culvert_model_down', '1 while no target of the model answers.', 'model', 'max', aliases.down);
  metrics.gauge('culvert_data_free_bytes', 'Free bytes on the disk of the data folder.', 'max', room.freeBytes);
  metrics.gauge('culvert_cache_waiting_requests', 'Requests that wait for an equal one.', 'sum', cache.waiting);
  metrics.gauges('culvert_build_info', '1; the version is in the label.', 'version', 'max', () => [[version, 1]]);
  const help = 'Age of the oldest record that a sink has not received, as far as this process knows.';
  metrics.gauges('culvert_sink_lag_seconds', help, 'sink', 'max', () =>
    sinks.standing().map(({ name, lagMs }) => [name, lagMs / 1_000] as const),
  );
}
