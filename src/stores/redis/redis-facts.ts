import type { Clock } from '../../kernel/clock.ts';
import { keyServersOf } from './servers.ts';
import { NoReply, openWire, type Reply, type Wire } from './wire.ts';

/** Facts of a server, for `culvert doctor`. */
export interface RedisFacts {
  /** Why it cannot be used, in words without its password; null when it can. */
  trouble: string | null;
  /** Such as `Redis 7.0.15`; null when it could not be asked. */
  version: string | null;
  /** Anything but `noeviction` may drop counters; null when it does not tell. */
  maxmemoryPolicy: string | null;
  /** Ms by which its clock is before (negative) or after ours, give or take the way there. */
  clockAheadMs: number | null;
}

/** Never rejects: an unreachable server is reported as trouble. */
export async function redisFacts(url: string, clock: Clock): Promise<RedisFacts> {
  let wire: Wire | null = null;
  try {
    wire = await openWire(await keyServersOf(url, clock).cache.url(), clock, { onOver() {}, onFlowing() {} });
    const info = String(await wire.send(['INFO', 'server']));
    const sentMs = clock.wallMs();
    const [seconds, micros] = (await wire.send(['TIME'])) as [string, string];
    const theirsMs = Number(seconds) * 1_000 + Number(micros) / 1_000;
    return {
      trouble: null,
      version: `Redis ${/^redis_version:(\S+)/m.exec(info)?.[1] ?? ''}`,
      maxmemoryPolicy: await evictionPolicy(wire),
      clockAheadMs: Math.round(theirsMs - (sentMs + clock.wallMs()) / 2),
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const trouble = `Redis at ${new URL(url).host} cannot be used: ${reason}`;
    return { trouble, version: null, maxmemoryPolicy: null, clockAheadMs: null };
  } finally {
    wire?.destroy();
  }
}

/** `maxmemory-policy`; null from a server that does not let us read its configuration, which may count nevertheless. */
export async function evictionPolicy(wire: Wire): Promise<string | null> {
  let reply: unknown;
  try {
    reply = (await wire.send(['CONFIG', 'GET', 'maxmemory-policy'])) satisfies Reply;
  } catch (error) {
    if (error instanceof NoReply) throw error;
    return null;
  }
  const policy = Array.isArray(reply) ? reply[1] : (reply as Record<string, unknown> | null)?.['maxmemory-policy'];
  return typeof policy === 'string' ? policy : null;
}
