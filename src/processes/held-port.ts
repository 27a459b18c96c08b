import { lookup } from 'node:dns/promises';
import net from 'node:net';

/** The port of a server, which stays open whichever of its workers live. */
export interface HeldPort {
  /** Open in this process. */
  descriptor: number;
  release(): void;
}

/**
 * Binds a port and accepts nothing from it: while no worker lives, connections wait to be accepted by the next one.
 * Null where Node cannot (before 24.19, and on Windows), or the port cannot be bound. Then the workers open it, or say
 * why they cannot.
 */
export async function holdPort(host: string, port: number): Promise<HeldPort | null> {
  if (!('BoundSocket' in net)) return null;
  try {
    const { address } = await lookup(host);
    const bound = new net.BoundSocket({ host: address, port });
    const descriptor = bound.fd();
    if (descriptor !== -1) return { descriptor, release: () => bound.close() };
    bound.close();
  } catch {
    // The workers meet the same error.
  }
  return null;
}
