import type { Principal } from '../../../books/auth/principal.ts';
import type { Failure } from '../../../kernel/failure.ts';
import type { Room } from '../../../kernel/sharing/room.ts';
import type { SpineServices } from '../../spine/services.ts';
import type { CascadeSteps } from './cascade-steps.ts';

export interface RealtimeServices extends SpineServices {
  /** For models that hold no sessions themselves. */
  steps: CascadeSteps;
  /** Sound that waits for such models is in the room for bodies. */
  uploads: { room: Room };
  /** The key's owner as of now: it may have been revoked since its session began. */
  principalOf(keyId: string): Principal | Failure;
}
