import type { Refusal } from '../metering/refusal.ts';
import type { Refusals } from '../metering/refusals.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';

/** How long refusals without a line of their own are gathered into one. */
const gatherMs = 1_000;

/** Who hears of a refused request: metrics of each, the log and the books of some (`Refusals`). */
export function tellRefused(
  log: Log,
  metrics: Pick<Metrics, 'refused'>,
  refusals: Pick<Refusals, 'add'>,
): (refusal: Refusal) => void {
  /** Of those without a line: how many, by status and reason. */
  let more: Record<string, number> | null = null;

  function sayMore(): void {
    log.info({ requests: more }, 'more requests were refused');
    more = null;
  }

  return (refusal) => {
    metrics.refused(refusal);
    const { requestId, account, keyId, endpoint, model, status, reason, limit, ms, message } = refusal;
    if (refusals.add(refusal) === 'line') {
      const what = { status, class: reason, ...(limit !== '' && { limit }), ms, message };
      log.info({ requestId, account, keyId, endpoint, model, ...what }, 'refused');
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
