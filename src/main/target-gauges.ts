import type { Snapshot } from '../inference/models/snapshot.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Metrics, Over } from '../observe/metrics.ts';
import type { Health } from '../routing/health.ts';
import type { LaneSnapshot } from '../routing/health-snapshot.ts';

/** Adds what each target is doing right now, under its label: only those that a request has reached. */
export function addTargetGauges(
  metrics: Pick<Metrics, 'gauges'>,
  parts: { health: Pick<Health, 'snapshot'>; snapshot(): Pick<Snapshot, 'models'>; clock: Clock },
): void {
  const add = (name: string, help: string, over: Over, of: (lane: LaneSnapshot) => number) =>
    metrics.gauges(name, help, 'target', over, () => {
      const { targetOf } = parts.snapshot().models.labels;
      const sums = new Map<string, number>();
      for (const lane of parts.health.snapshot(parts.clock.monotonicMs())) {
        const target = targetOf(lane.target);
        sums.set(target, (sums.get(target) ?? 0) + of(lane));
      }
      return sums;
    });
  add('culvert_target_running', 'Attempts that are running at a target.', 'sum', ({ inFlight }) => inFlight);
  add(
    'culvert_target_limited',
    'Credentials of a target that rest because their provider limited them.',
    'max',
    (lane) => Number(lane.standing === 'cooling'),
  );
  add('culvert_target_closed', 'Credentials of a target that are not asked because it failed.', 'max', ({ standing }) =>
    Number(standing !== 'cooling' && standing !== 'ready'),
  );
}
