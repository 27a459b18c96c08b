import type { Clock } from '../../kernel/clock.ts';
import type { Health } from '../../routing/health.ts';
import type { LaneSnapshot } from '../../routing/health-snapshot.ts';
import type { Snapshot } from './snapshot.ts';

type Over = 'sum' | 'max';

interface Gauges {
  gauges(name: string, help: string, label: string, over: Over, read: () => Iterable<readonly [string, number]>): void;
}

/** Adds what each target is doing right now, under its label: only those that a request has reached. */
export function addTargetGauges(
  metrics: Gauges,
  parts: {
    health: Pick<Health, 'snapshot'>;
    readonly snapshots: { readonly current: Pick<Snapshot, 'models'> };
    clock: Clock;
  },
): void {
  const add = (name: string, help: string, over: Over, of: (lane: LaneSnapshot) => number) =>
    metrics.gauges(name, help, 'target', over, () => {
      const { targetOf } = parts.snapshots.current.models.labels;
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
