import type { Clock } from '../../kernel/clock.ts';
import { errorMessage } from './redis-errors.ts';
import { openWire, type Reply } from './wire.ts';

/**
 * A script of Redis Cluster has all its keys in one of 16,384 slots. So the accounts are divided into parts, each with a
 * slot, an epoch and counters, as if it had a Redis alone. These tags have slots that lie evenly: 512, 1536,
 * and so on. Never change them: counters of other tags are not found.
 */
const tags =
  'p852 p2773 p3854 p10718 p44868 p45382 p25878 p12423 p2515 p46935 p42160 p27925 p12288 p13962 p5591 p1909'.split(' ');
const slotsOfPart = 16_384 / tags.length;

/** Hash tag of the answers that are kept, and its slot. */
const cacheSlot = 9_427;

/** Answers to where a slot is serve all parts that ask within this long. */
const freshMs = 200;
/** Servers that one look asks at once. */
const serversMax = 8;

/** Keys with one hash tag. */
export interface ClusterPart {
  tag: string;
  /** URL of the server that has the keys now. Rejects while none is known. */
  serverUrl(): Promise<string>;
}

export interface Cluster {
  parts: readonly ClusterPart[];
  cache: ClusterPart;
}

/** `url`: as `storage.state` has it. Null: it names a single server. */
export function clusterOf(url: string, clock: Clock): Cluster | null {
  if (!/^rediss?\+cluster:/.test(url)) return null;
  const serverUrl = createMap(url, clock);
  const part = (tag: string, slot: number): ClusterPart => ({ tag, serverUrl: () => serverUrl(slot) });
  return {
    parts: tags.map((tag, at) => part(tag, (at + 0.5) * slotsOfPart)),
    cache: part('cache', cacheSlot),
  };
}

/** Index of the account's part. */
export function partOf(account: string): number {
  // FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/
  let hash = 0x811c9dc5;
  for (let i = 0; i < account.length; i++) hash = Math.imul(hash ^ account.charCodeAt(i), 0x01000193);
  return (hash >>> 8) % tags.length;
}

type Range = readonly [first: number, last: number, primary: readonly [host: string | null, port: number]];

/** Map of slots to servers, read from any server that answers: those of the URL, and those that were in it before. */
function createMap(url: string, clock: Clock): (slot: number) => Promise<string> {
  const given = new URL(url.replace('+cluster:', ':'));
  const seeds = [given.host, ...given.searchParams.getAll('node')];
  given.search = '';
  let servers: string[] = [];
  let look: { ranges: Promise<readonly Range[]>; atMs: number } | null = null;

  function at(host: string): string {
    const server = new URL(given);
    server.host = host;
    return server.href;
  }

  async function ask(host: string): Promise<readonly Range[]> {
    const wire = await openWire(at(host), clock, { onOver() {}, onFlowing() {} });
    try {
      const slots = (await wire.send(['CLUSTER', 'SLOTS']).catch((error: unknown) => {
        if (!errorMessage(error).includes('cluster support disabled')) throw error;
        throw new Error("it is no server of Redis Cluster; write redis:// or rediss:// in 'storage.state'");
      })) as readonly (readonly Reply[])[];
      const { hostname } = new URL(at(host));
      // A server that does not know its name means the one by which it was asked.
      return slots.map(([first, last, primary]) => {
        const [name, port] = primary as readonly [string | null, number];
        return [
          first as number,
          last as number,
          [name === null || name === '' || name === '?' ? hostname : name, port],
        ];
      });
    } finally {
      wire.destroy();
    }
  }

  async function askAll(): Promise<readonly Range[]> {
    const hosts = [...new Set([...servers, ...seeds])].slice(0, serversMax);
    const ranges = await Promise.any(hosts.map(ask)).catch((error: AggregateError) => Promise.reject(error.errors[0]));
    servers = [...new Set(ranges.map(([, , primary]) => hostOf(primary)))].slice(0, serversMax - seeds.length);
    return ranges;
  }

  return async (slot) => {
    if (look === null || clock.monotonicMs() - look.atMs > freshMs)
      look = { ranges: askAll(), atMs: clock.monotonicMs() };
    const range = (await look.ranges).find(([first, last]) => first <= slot && slot <= last);
    if (range === undefined) throw new Error(`no server of the cluster has slot ${slot}`);
    return at(hostOf(range[2]));
  };
}

function hostOf([host, port]: Range[2]): string {
  return `${host?.includes(':') ? `[${host}]` : host}:${port}`;
}
