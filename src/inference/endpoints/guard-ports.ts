import type { ServerPorts } from '../guards/server-ports.ts';
import { createModerate } from './moderate.ts';
import type { Services } from './services.ts';

/** The parts of this server that guards ask. */
export function createGuardPorts(services: Omit<Services, 'serverTools'>): ServerPorts {
  return { moderate: createModerate(services), schemas: services.schemas };
}
