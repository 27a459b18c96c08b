import type { LastingCallers } from '../../../books/auth/caller-note.ts';
import { createClientSecrets } from '../../../books/auth/client-secrets.ts';
import { createRealtimeSteps } from '../../../inference/endpoints/realtime-steps.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import type { Sealer } from '../../../kernel/seal.ts';
import type { Route } from '../../exchange.ts';
import { liveRoutes } from '../google/live.ts';
import { realtimeRoutes } from '../realtime/realtime.ts';
import { speechRoutes } from './speech.ts';
import { transcriptionRoutes } from './transcriptions.ts';

/** Speech, transcription and sessions of both. `sealer` seals what client secrets open. */
export function soundRoutes(services: Services, ring: LastingCallers, sealer: Sealer): Route[] {
  const secrets = createClientSecrets(sealer, ring, services.clock);
  const sessions = { ...services, principalOf: ring.principalOf, steps: createRealtimeSteps(services) };
  return [
    ...speechRoutes(services),
    ...transcriptionRoutes(services),
    ...realtimeRoutes({ services: sessions, secrets }),
    ...liveRoutes(sessions),
  ];
}
