import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { CulvertConfig, GatewayOptions } from './gateway-types.ts';

/** A gateway that runs, as the library needs it. */
export interface OpenedGateway {
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** False: there is no WebSocket at its path. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  /** Serves HTTP/1.1 on a connection that no port accepted. */
  connect(connection: Duplex): void;
  listen(at: { host?: string; port?: number }): Promise<string>;
  reload(config: CulvertConfig | string | undefined): Promise<void>;
  close(graceMs: number): Promise<void>;
}

/** Reads the configuration and opens everything but a port. Rejects with a `GatewayError`. */
export type OpenEmbedded = (
  options: Required<Pick<GatewayOptions, 'env' | 'log'>> & Pick<GatewayOptions, 'config'>,
) => Promise<OpenedGateway>;
