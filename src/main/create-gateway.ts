import { EmbeddedGateway } from '../library/embedded-gateway.ts';
import type { Gateway, GatewayOptions } from '../library/gateway-types.ts';

export { GatewayError } from '../library/gateway-error.ts';
export type * from '../library/gateway-types.ts';

/**
 * A gateway inside an application (`culvert-gateway`). Nothing is loaded or opened before its first request or `start`,
 * and the process stays the application's: no signals, no port, no exit.
 */
export function createGateway(options: GatewayOptions = {}): Gateway {
  return new EmbeddedGateway(options, async (parts) => (await import('../main.ts')).openEmbedded(parts));
}
