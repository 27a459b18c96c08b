import type { RedisClient, RedisClientOptions } from '@redis/client';

type ClientOptions = Pick<RedisClientOptions, 'url' | 'commandOptions' | 'pingInterval'> & {
  socket: { ca?: Buffer; cert?: Buffer; key?: Buffer; socketTimeout?: number };
};

export const connectTimeoutMs = 1_000;

let make: ReturnType<typeof RedisClient.factory> | null = null;

/**
 * Creates a client for one connection, which is not open yet and never repaired. The package's own createClient makes a
 * class with all commands of Redis for each client, which took 10 ms of CPU: here all clients are of one class. Only
 * installations with Redis pay for loading the package.
 */
export async function createRedisClient({ socket, ...options }: ClientOptions) {
  const { RedisClient } = await import('@redis/client');
  make ??= RedisClient.factory();
  return make({
    ...options,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    socket: { ...socket, reconnectStrategy: false, connectTimeout: connectTimeoutMs },
  } as RedisClientOptions);
}
