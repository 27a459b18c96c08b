import type { ServerPorts } from '../guards/server-ports.ts';
import { createInnerCalls } from './inner-calls.ts';
import { createModerate } from './moderate.ts';
import type { Services } from './services.ts';

/** The parts of this server that guards ask. */
export function createGuardPorts(
  services: Omit<Services, 'serverTools'>,
  nearest: ServerPorts['nearest'],
): ServerPorts {
  const { embed } = createInnerCalls(services, 'guard');
  return { moderate: createModerate(services), schemas: services.schemas, embed, nearest };
}
