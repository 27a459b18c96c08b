import { readFileSync } from 'node:fs';
import type { RedisClient, RedisClientOptions } from '@redis/client';

interface ClientOptions extends Pick<RedisClientOptions, 'commandOptions' | 'pingInterval'> {
  url: string;
  /** Ms without a byte after which the connection is over. */
  socketTimeout?: number;
}

export const connectTimeoutMs = 1_000;

/** Files that the query of a URL may name, as that of PostgreSQL does. */
export const tlsFiles = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' } as const;

/** Read for each connection: certificates are renewed. */
function filesOfTls(url: string): { [Name in 'ca' | 'cert' | 'key']?: Buffer } {
  const { searchParams } = new URL(url);
  const named = Object.entries(tlsFiles).filter(([name]) => searchParams.has(name));
  return Object.fromEntries(named.map(([name, option]) => [option, readFileSync(searchParams.get(name) ?? '')]));
}

let make: ReturnType<typeof RedisClient.factory> | null = null;

/**
 * Creates a client for one connection, which is not open yet and never repaired. The package's own createClient makes a
 * class with all commands of Redis for each client, which took 10 ms of CPU: here all clients are of one class. Only
 * installations with Redis pay for loading the package.
 */
export async function createRedisClient({ socketTimeout, ...options }: ClientOptions) {
  const { RedisClient } = await import('@redis/client');
  make ??= RedisClient.factory();
  return make({
    ...options,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    socket: {
      ...filesOfTls(options.url),
      ...(socketTimeout !== undefined && { socketTimeout }),
      reconnectStrategy: false,
      connectTimeout: connectTimeoutMs,
    },
  } as RedisClientOptions);
}

export function destroyQuietly(client: { destroy(): void }): void {
  try {
    client.destroy();
  } catch {
    // It never was open, or is closed already.
  }
}
