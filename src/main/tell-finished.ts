import type { Services } from '../inference/endpoints/services.ts';
import type { MetricLabels } from '../inference/models/model-table.ts';
import type { Log } from '../observe/log.ts';
import { requestLog } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { AliasWatch } from './alias-watch.ts';

/** Who hears of every request that has ended: metrics, a line in the log, and the operator of refused credentials. */
export function tellFinished(
  log: Log,
  metrics: Pick<Metrics, 'finished'>,
  labels: () => MetricLabels,
  aliases: Pick<AliasWatch, 'ended'>,
): Services['finished'] {
  const logRequest = requestLog(log);
  return (event) => {
    const { modelOf, targetOf } = labels();
    const model = modelOf(event.alias);
    metrics.finished(event, model, targetOf(event.target));
    aliases.ended(model, event);
    const attempts = event.route.attempts.length;
    logRequest(event, attempts);
    if (event.class === 'ok' && attempts === 1) return;
    for (const attempt of event.route.attempts) {
      // Failover hides it from every caller, and no retry mends it: the operator must hear of it here.
      if (attempt.class === 'bad_credential' || attempt.class === 'quota_exhausted') {
        const { provider, credential, status: answered } = attempt;
        log.warn(
          { requestId: event.requestId, provider, credential, status: answered, class: attempt.class },
          'a credential was refused',
        );
      }
    }
  };
}
