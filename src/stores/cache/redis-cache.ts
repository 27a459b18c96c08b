import type {
  CacheBounds,
  CacheEntry,
  CacheScopeStats,
  CacheSelection,
  SharedCacheStore,
} from '../../books/metering/cache-store.ts';
import { backoffMs } from '../../kernel/backoff.ts';
import type { Clock } from '../../kernel/clock.ts';
import { silentMaxMs } from '../patience.ts';
import { keysOf } from '../redis/keys.ts';
import { errorMessage, isElsewhere } from '../redis/redis-errors.ts';
import type { Script } from '../redis/script.ts';
import { type KeyServer, keyServersOf, type StoreUrl } from '../redis/servers.ts';
import { openWire, type Reply, type Wire } from '../redis/wire.ts';
import { createTroubleReport } from '../trouble-report.ts';
import { dropScript, expireScript, putScript, statsScript } from './lua-cache.ts';

/** Memory of Redis for an entry without its body: its places in six keys. */
const entryBytes = 1_024;
const retryPauses = { firstMs: 100, maxMs: 5_000 };
/** Counters may share the Redis, and without memory they admit nobody: of its `maxmemory` the cache leaves this share. */
const leftShare = 0.1;
const memoryLookMs = 250;
/** Fields or scopes in one command. */
const scannedAtOnce = 500;
const newline = 10;

export interface RedisCacheOptions {
  url: StoreUrl;
  /** Names the books: a Redis may be shared. */
  booksId: string;
  bounds: CacheBounds;
  clock: Clock;
  onTrouble(message: string): void;
}

/** Entries in Redis, over a separate connection. While Redis is away or slow, each call rejects at once. */
export function openRedisCache(options: RedisCacheOptions): SharedCacheStore {
  const { booksId, bounds, clock } = options;
  const prefix = `${keysOf(booksId)}{cache}:`;
  const link = openLink(options, keyServersOf(options.url, clock).cache);
  const hasRoom = memoryLook(link.send, clock);
  const run = (script: Script, args: readonly (string | Buffer)[]) =>
    runOver(link.send, script, ['1', prefix, ...args]);

  /** `over`: 'any', 'none', or the `atMs` of the entry that must be there. */
  async function write(scope: string, digest: string, entry: CacheEntry, over: string): Promise<boolean> {
    const { atMs, expiresAtMs, keyId, model, tag, body } = entry;
    const bytes = body.length + entryBytes;
    const { scopeBytes, totalBytes } = bounds;
    if (bytes > Math.min(scopeBytes, totalBytes)) return false;
    if (!(await hasRoom(bytes))) throw new Error('Redis has no memory left for answers');
    const head = JSON.stringify([atMs, expiresAtMs, keyId, model, tag]);
    const fields = JSON.stringify([bytes, atMs, keyId, model, tag ?? '']);
    const numbers = [bytes, atMs, expiresAtMs, clock.wallMs(), scopeBytes, totalBytes].map(String);
    const value = Buffer.concat([Buffer.from(`${head}\n`), body]);
    return Number(await run(putScript, [scope, digest, model, fields, ...numbers, value, over])) === 1;
  }

  async function scopesOf(scope: string | undefined): Promise<string[]> {
    if (scope !== undefined) return [scope];
    return textsOf(await link.send(['HKEYS', `${prefix}all`]));
  }

  /** Looks at a few fields at a time: others may ask Redis in between. */
  async function clearScope(scope: string, which: CacheSelection): Promise<number> {
    let removed = 0;
    for (let cursor = '0'; ; ) {
      const scan = ['HSCAN', `${prefix}m:${scope}`, cursor, 'COUNT', String(scannedAtOnce)];
      const [next = '0', found] = (await link.send(scan)) as [Reply?, Reply?];
      const fields = textsOf(found ?? []);
      const digests = fields.filter((_, at) => at % 2 === 0 && isMeant(which, fields[at + 1]));
      if (digests.length > 0) removed += Number(await run(dropScript, [scope, ...digests]));
      cursor = String(next);
      if (cursor === '0') return removed;
    }
  }

  return {
    async get(scope, digest) {
      const found = await link.send(['GET', `${prefix}e:${digest} ${scope}`]);
      const entry = Buffer.isBuffer(found) ? entryOf(found) : null;
      return entry === null || entry.expiresAtMs <= clock.wallMs() ? null : entry;
    },
    async put(scope, digest, entry) {
      await write(scope, digest, entry, 'any');
    },
    swap: (scope, digest, entry, over) => write(scope, digest, entry, over === null ? 'none' : String(over)),
    async clear({ scope, ...which }) {
      let removed = 0;
      for (const one of await scopesOf(scope)) removed += await clearScope(one, which);
      return removed;
    },
    async stats() {
      while (Number(await run(expireScript, [String(clock.wallMs())])) > 0);
      const scopes = (await scopesOf(undefined)).sort();
      const stats: CacheScopeStats[] = [];
      for (let at = 0; at < scopes.length; at += scannedAtOnce) {
        const rows = (await run(statsScript, scopes.slice(at, at + scannedAtOnce))) as readonly Reply[][];
        stats.push(...rows.map(statsOf));
      }
      return stats;
    },
    close: async () => link.close(),
  };
}

/**
 * Whether Redis takes so many bytes and stays below its `maxmemory` by the share that the cache leaves. It is asked again
 * four times a second, and where what was written since has used up the room that it had.
 */
function memoryLook(send: (args: readonly string[]) => Promise<Reply>, clock: Clock) {
  let readMs = Number.NEGATIVE_INFINITY;
  let looking = Promise.resolve();
  /** Infinite where Redis has no bound, or does not say. */
  let roomBytes = Number.POSITIVE_INFINITY;
  const look = async () => {
    const info = await send(['INFO', 'memory']).then(String, () => '');
    const [used = 0, most = 0] = ['used_memory', 'maxmemory'].map((name) =>
      Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0),
    );
    roomBytes = most > 0 ? most * (1 - leftShare) - used : Number.POSITIVE_INFINITY;
  };
  return async (bytes: number): Promise<boolean> => {
    const hadRoom = roomBytes > 0;
    roomBytes -= bytes;
    const isOld = clock.monotonicMs() - readMs >= memoryLookMs;
    if (isOld || (hadRoom && roomBytes < 0)) {
      readMs = clock.monotonicMs();
      looking = look();
    }
    await looking;
    return roomBytes > bytes;
  };
}

/** A connection that is made anew whenever it is lost. */
function openLink({ clock, onTrouble }: RedisCacheOptions, server: KeyServer) {
  let wire: Wire | null = null;
  let trouble: string | null = null;
  let losses = 0;
  let timer: NodeJS.Timeout | null = null;
  let closed = false;
  const words = { begins: (text: string) => `cache: Redis is lost: ${text}`, over: 'cache: Redis answers again' };
  const report = createTroubleReport({ trouble: () => trouble, words, report: onTrouble, clock });

  function lose(reason: string): void {
    wire = null;
    if (closed) return;
    trouble = reason;
    losses += 1;
    report.look();
    const reopen = () => {
      opening = connect();
    };
    timer = setTimeout(reopen, backoffMs(losses, retryPauses));
    timer.unref();
  }

  async function connect(): Promise<void> {
    try {
      const events = { onOver: lose, onFlowing: () => undefined };
      wire = await openWire(await server.url(), clock, events, { texts: 'bytes', maxMs: silentMaxMs });
      if (closed) return wire.destroy();
      losses = 0;
      trouble = null;
      report.look();
    } catch (error) {
      lose(errorMessage(error));
    }
  }

  async function send(args: readonly (string | Buffer)[]): Promise<Reply> {
    if (wire === null && trouble === null) await opening;
    if (wire === null) throw new Error(`Redis is lost: ${trouble ?? 'it was closed'}`);
    if (wire.slow()) throw new Error('Redis does not answer in time');
    const on = wire;
    return on.send(args).catch((error: unknown) => {
      const words = errorMessage(error);
      if (on === wire && isElsewhere(words)) {
        on.destroy();
        lose(words);
      }
      throw error;
    });
  }

  let opening = connect();

  return {
    send,
    close(): void {
      closed = true;
      if (timer !== null) clearTimeout(timer);
      wire?.destroy();
      wire = null;
      trouble = 'it was closed';
    },
  };
}

async function runOver(
  send: ReturnType<typeof openLink>['send'],
  { sha, text }: Script,
  rest: readonly (string | Buffer)[],
): Promise<Reply> {
  try {
    return await send(['EVALSHA', sha, ...rest]);
  } catch (error) {
    if (!errorMessage(error).startsWith('NOSCRIPT')) throw error;
    return send(['EVAL', text, ...rest]);
  }
}

function statsOf([scope, model, entries, bytes, oldestMs]: readonly Reply[]): CacheScopeStats {
  return {
    scope: String(scope),
    model: String(model),
    entries: Number(entries),
    bytes: Number(bytes),
    oldestMs: Number(String(oldestMs)),
  };
}

function textsOf(reply: Reply): string[] {
  return Array.isArray(reply) ? reply.map(String) : [];
}

/** `fields` as `put` writes them. */
function isMeant(which: CacheSelection, fields: string | undefined): boolean {
  const [, , keyId, model, tag] = JSON.parse(fields ?? '[]') as unknown[];
  return (which.keyId ?? keyId) === keyId && (which.model ?? model) === model && (which.tag ?? tag) === tag;
}

/** Null: it is none of ours. */
function entryOf(found: Buffer): CacheEntry | null {
  const end = found.indexOf(newline);
  if (end === -1) return null;
  try {
    const [atMs, expiresAtMs, keyId, model, tag] = JSON.parse(found.toString('utf8', 0, end)) as [
      number,
      number,
      string,
      string,
      string | null,
    ];
    return { atMs, expiresAtMs, keyId, model, tag, body: found.subarray(end + 1) };
  } catch {
    return null;
  }
}
