import type { GuardVerdict } from './fetch-guard.ts';

/** Bounds of one page's network use. */
export interface ProxyBounds {
  /** Bytes of both directions, as on the wire. */
  bytesMax: number;
  requestsMax: number;
}

export type ProxyRefusal = GuardVerdict & { ok: false };

/** One page's pass through the guarded proxy. */
export interface ProxyPass {
  user: string;
  password: string;
  /** Why nothing more comes through; null: something does. `ended`: its opener ended it. */
  ended(): 'bytes' | 'requests' | 'ended' | null;
  /** The guard's refusal of this place; undefined: nothing was refused there. */
  refusalAt(url: URL): ProxyRefusal | undefined;
  /** Closes every connection of it. */
  end(): void;
  /** One more request; false: one too many. */
  begin(): boolean;
  /** Counts this many bytes; false: too many. */
  spend(bytes: number): boolean;
  refused(url: URL, refusal: ProxyRefusal): void;
  /** A connection that ends with it. */
  holds(connection: Connection): void;
}

interface Connection {
  destroy(): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/** Places of one page that are remembered as refused. */
const refusalsMax = 200;

export function createProxyPass(
  { bytesMax, requestsMax }: ProxyBounds,
  secret: { user: string; password: string },
  onEnd: () => void,
): ProxyPass {
  const connections = new Set<Connection>();
  const refusals = new Map<string, ProxyRefusal>();
  let bytes = 0;
  let requests = 0;
  let why: ReturnType<ProxyPass['ended']> = null;

  function end(reason: 'bytes' | 'requests' | 'ended'): void {
    if (why !== null) return;
    why = reason;
    onEnd();
    for (const connection of connections) connection.destroy();
    connections.clear();
  }

  return {
    ...secret,
    ended: () => why,
    refusalAt: (url) => refusals.get(url.host),
    end: () => end('ended'),
    begin() {
      requests += 1;
      if (requests > requestsMax) end('requests');
      return why === null;
    },
    spend(more) {
      bytes += more;
      if (bytes > bytesMax) end('bytes');
      return why === null;
    },
    refused(url, refusal) {
      if (refusals.size < refusalsMax) refusals.set(url.host, refusal);
    },
    holds(connection) {
      if (why !== null) return void connection.destroy();
      if (connections.has(connection)) return;
      connections.add(connection);
      connection.once('close', () => connections.delete(connection));
    },
  };
}
