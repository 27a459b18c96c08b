import type { Health } from '../../routing/health.ts';
import type { LaneSnapshot, ModelStatus } from '../../routing/health-snapshot.ts';
import { type EngineLook, lookAtEngines } from './engine-look.ts';
import type { ConfiguredEngine } from './engine-targets.ts';
import type { QueryParts } from './query-engine.ts';

/** Search engines as their operator sees them. The callers' own pages are none. */
export type EngineOperator = ReturnType<typeof createEngineOperator>;

export interface EngineState {
  name: string;
  type: string;
  /** Without user, password and query. */
  baseUrl: string;
  status: ModelStatus;
  /** Health in the process that answers; null: it was not asked yet. */
  lane: LaneSnapshot | null;
}

export function createEngineOperator(parts: QueryParts & { health: Health; engines(): readonly ConfiguredEngine[] }) {
  const { health, clock } = parts;
  const found = () => parts.engines().filter(({ driver }) => driver !== null);
  return {
    /** In the order of the configuration. */
    list(): readonly EngineState[] {
      const nowMs = clock.monotonicMs();
      const lanes = new Map(health.snapshot(nowMs).map((lane) => [lane.credential, lane]));
      return found().map(({ name, type, settings, target }) => {
        const lane = lanes.get(target.credentials[0]!.id) ?? null;
        return { name, type, baseUrl: plainUrl(settings.baseUrl), status: statusOf(lane), lane };
      });
    },
    /** One query to an engine of this name, now; null: there is none. */
    async look(name: string): Promise<EngineLook | null> {
      const [look] = await lookAtEngines(
        parts,
        found().filter((engine) => engine.name === name),
      );
      return look ?? null;
    },
  };
}

/** An engine has one lane; one that was never asked is healthy. */
function statusOf(lane: LaneSnapshot | null): ModelStatus {
  if (lane === null || lane.standing === 'ready') return 'healthy';
  return lane.standing === 'cooling' || lane.standing === 'open' || lane.standing === 'refused' ? 'down' : 'degraded';
}

function plainUrl(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return origin + pathname.replace(/\/+$/, '');
}
