import type { Transport } from '../../upstream/transport/upstream-call.ts';
import type { VectorEngine } from '../../vectors/vector-engine.ts';
import { servePorts } from '../guards/server-ports.ts';
import type { Services } from './services.ts';

/** Opens the parts of this server that guards ask, at their first question. */
export function openGuardPorts(
  services: Omit<Services, 'serverTools'> & { transport: Transport },
  vectors: Pick<VectorEngine, 'prepare'>,
): void {
  servePorts(services.transport, async () => {
    const { createNearestPoints } = await import('../families/vectors/nearest-points.ts');
    const { createInnerCalls } = await import('./inner-calls.ts');
    const { createModerate } = await import('./moderate.ts');
    const { embed } = createInnerCalls(services, 'guard');
    const nearest = createNearestPoints(services, vectors);
    return { moderate: createModerate(services), schemas: services.schemas, embed, nearest };
  });
}
