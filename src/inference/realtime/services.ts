import type { Principal } from '../../auth/principal.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { SpineServices } from '../spine/services.ts';

export interface RealtimeServices extends SpineServices {
  /** The key's owner as of now: it may have been revoked since its session began. */
  principalOf(keyId: string): Principal | Failure;
}
