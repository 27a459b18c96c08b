import type { Clock } from '../../kernel/clock.ts';
import { tlsFiles } from './redis-client.ts';
import { errorMessage } from './redis-errors.ts';
import { openWire, type Reply } from './wire.ts';

/**
 * A script of Redis Cluster has all its keys in one of 16,384 slots. So the accounts are divided into parts, each with a
 * slot, an epoch and counters, as if it had a Redis alone. These tags have slots that lie evenly: 512, 1536, and so on.
 * Never change them: counters of other tags are not found.
 */
const tags =
  'p852 p2773 p3854 p10718 p44868 p45382 p25878 p12423 p2515 p46935 p42160 p27925 p12288 p13962 p5591 p1909'.split(' ');
const slotsOfPart = 16_384 / tags.length;

/** Slot of the hash tag of the answers that are kept. */
const cacheSlot = 9_427;

/** Answers to where a slot is serve all parts that ask within this long. */
const freshMs = 200;
/** Servers that one look asks at once. */
const serversMax = 8;

export interface KeyServer {
  /** Hash tag of all of them; null: they need none. */
  tag: string | null;
  /** Its URL now, which may be another one later. Rejects while none is known. */
  url(): Promise<string>;
}

export interface KeyServers {
  /** Several in a cluster: `partOf(account)` has all counts of an account. */
  parts: readonly KeyServer[];
  cache: KeyServer;
}

/** A URL, or a function where its user and password may change. */
export type StoreUrl = string | (() => string);

/** Reads `storage.state`: the URL of a server, of sentinels, or of a cluster. */
export function keyServersOf(storeUrl: StoreUrl, clock: Clock): KeyServers {
  const url = typeof storeUrl === 'string' ? () => storeUrl : storeUrl;
  const kind = /^rediss?\+(\w+):/.exec(url())?.[1];
  if (kind === 'cluster') {
    const urlOf = createSlotMap(() => readUrl(url()), clock);
    const parts = tags.map((tag, at): KeyServer => ({ tag, url: () => urlOf((at + 0.5) * slotsOfPart) }));
    return { parts, cache: { tag: null, url: () => urlOf(cacheSlot) } };
  }
  const one = { tag: null, url: kind === 'sentinel' ? primaryOf(() => readUrl(url()), clock) : async () => url() };
  return { parts: [one], cache: one };
}

/** Index of the account's part in a cluster. */
export function partOf(account: string): number {
  // FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/
  let hash = 0x811c9dc5;
  for (let i = 0; i < account.length; i++) hash = Math.imul(hash ^ account.charCodeAt(i), 0x01000193);
  return (hash >>> 8) % tags.length;
}

interface ServersUrl {
  path: string;
  /** Servers that are asked first, `host` or `host:port`. */
  hosts: readonly string[];
  /** The same URL, of one server. */
  at(host: string): URL;
  query: URLSearchParams;
}

function readUrl(url: string): ServersUrl {
  const read = new URL(url.replace(/\+\w+:/, ':'));
  const query = new URLSearchParams(read.search);
  const hosts = [read.host, ...query.getAll('node')];
  for (const name of query.keys()) if (!Object.hasOwn(tlsFiles, name)) read.searchParams.delete(name);
  function at(host: string): URL {
    const server = new URL(read);
    server.host = host;
    return server;
  }
  return { path: read.pathname, hosts, at, query };
}

/** The first answer of any of these servers. */
async function askAny<Answer>(
  urls: readonly URL[],
  clock: Clock,
  command: readonly string[],
  read: (reply: Reply, from: URL) => Answer,
): Promise<Answer> {
  async function ask(url: URL): Promise<Answer> {
    const wire = await openWire(url.href, clock, { onOver() {}, onFlowing() {} });
    try {
      return read(await wire.send(command), url);
    } finally {
      wire.destroy();
    }
  }
  return Promise.any(urls.slice(0, serversMax).map(ask)).catch((error: AggregateError) => {
    const words = errorMessage(error.errors[0]);
    if (!/cluster support disabled|unknown command.*sentinel/i.test(words)) throw error.errors[0];
    throw new Error(`it is no server of this kind (${words}); correct the scheme of 'storage.state'`);
  });
}

/** The primary that sentinels name: `redis+sentinel://[user[:password]@]host[:26379]/NAME[/database]`. */
function primaryOf(read: () => ServersUrl, clock: Clock): () => Promise<string> {
  return () => {
    const { path, hosts, at, query } = read();
    const [, name = '', ...database] = path.split('/');
    const sentinels = hosts.map((host) => {
      const url = at(host);
      url.port ||= '26379';
      url.pathname = '';
      url.username = '';
      url.password = query.get('sentinel_password') ?? '';
      return url;
    });
    return askAny(sentinels, clock, ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', decodeURIComponent(name)], (reply) => {
      if (!Array.isArray(reply)) throw new Error(`the sentinels know no primary named '${name}'`);
      const primary = at(hostOf(String(reply[0]), Number(reply[1])));
      primary.pathname = `/${database.join('/')}`;
      return primary.href;
    });
  };
}

type Range = readonly [first: number, last: number, host: string];

/** Map of slots to servers of a cluster, read from any that answers: of the URL, and of the map before. */
function createSlotMap(read: () => ServersUrl, clock: Clock): (slot: number) => Promise<string> {
  let servers: string[] = [];
  let look: { ranges: Promise<readonly Range[]>; atMs: number } | null = null;

  async function readRanges(): Promise<readonly Range[]> {
    const { hosts, at } = read();
    const urls = [...new Set([...servers, ...hosts])].map(at);
    const ranges = await askAny(urls, clock, ['CLUSTER', 'SLOTS'], (reply, { hostname }) =>
      (reply as readonly (readonly Reply[])[]).map(([first, last, primary]): Range => {
        const [name, port] = primary as readonly [string | null, number];
        // A server that does not know its name means the one by which it was asked.
        return [first as number, last as number, hostOf(name === null || /^\??$/.test(name) ? hostname : name, port)];
      }),
    );
    servers = [...new Set(ranges.map(([, , host]) => host))].slice(0, Math.max(1, serversMax - hosts.length));
    return ranges;
  }

  return async (slot) => {
    if (look === null || clock.monotonicMs() - look.atMs > freshMs)
      look = { ranges: readRanges(), atMs: clock.monotonicMs() };
    const range = (await look.ranges).find(([first, last]) => first <= slot && slot <= last);
    if (range === undefined) throw new Error(`no server of the cluster has slot ${slot}`);
    return read().at(range[2]).href;
  };
}

function hostOf(name: string, port: number): string {
  return `${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}:${port}`;
}
