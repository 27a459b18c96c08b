import { z } from 'zod';
import type { Health } from '../../routing/health.ts';
import type { LaneSnapshot } from '../../routing/health-snapshot.ts';
import type { Standing } from '../../routing/lane.ts';
import type { Target } from '../../routing/target.ts';
import { healthField } from '../fields.ts';

export const providerStatusField = z
  .enum([...healthField.options, 'failing'])
  .describe(
    'failing: most of its attempts within the last minute failed, and at least 3 did. A provider that was never tried is healthy.',
  );

export type ProviderStatus = z.output<typeof providerStatusField>;

/** Closed: the last requests failed, whether or not the next request may try it again. */
export const closedOut: readonly Standing[] = ['open', 'refused', 'due', 'probing'];
/** Fewer failures may be chance. */
const failedMin = 3;

/**
 * Status of a provider for operators, from its targets and all its lanes. A breaker opens late, when its target
 * is as good as dead, so a provider that mostly fails is reported before.
 */
export function providerStatus(
  health: Health,
  targets: readonly Target[],
  lanes: readonly LaneSnapshot[],
  nowMs: number,
  unheard = false,
): ProviderStatus {
  // Of a provider with many models, few were asked. When each of those failed, all are taken to fail.
  const allFailed =
    lanes.length > 0 &&
    lanes.every(({ standing }) => closedOut.includes(standing)) &&
    lanes.some(({ why }) => why !== 'model unavailable');
  const untried = unheard ? 'down' : 'healthy';
  const status = targets.length === 0 ? untried : health.status(targets, nowMs);
  // A provider that asks us to wait works.
  const isLimited = lanes.some(({ standing }) => standing === 'cooling');
  if (allFailed || (status === 'down' && !isLimited)) return 'down';
  const { failed, attempts } = recentAttempts(lanes);
  if (failed >= failedMin && failed > attempts / 2) return 'failing';
  return status === 'down' || unheard ? 'degraded' : status;
}

/** Lanes of each provider, by its name. A provider's name has no slash; models' names may have one. */
export function lanesByProvider(health: Health, nowMs: number): Map<string, LaneSnapshot[]> {
  return Map.groupBy(health.snapshot(nowMs), ({ target }) => target.slice(0, target.indexOf('/')));
}

/** Attempts that ended within the last 60 s. */
export function recentAttempts(lanes: readonly LaneSnapshot[]): { failed: number; attempts: number } {
  const failed = lanes.reduce((sum, lane) => sum + lane.failed, 0);
  return { failed, attempts: lanes.reduce((sum, lane) => sum + lane.succeeded, failed) };
}
