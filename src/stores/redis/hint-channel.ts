import type { HintChannel } from '../../books/metering/hint-channel.ts';
import { keysOf } from './keys.ts';
import type { Link } from './link.ts';
import { luaWindows } from './lua-windows.ts';
import { createRedisClient, destroyQuietly } from './redis-client.ts';
import { script } from './script.ts';
import type { KeyServer } from './servers.ts';

/** Longer texts are neither sent nor read. */
const textMax = 128 * 1024;
/** Nothing else is sent over it: without an answer to a ping for so long, the way of a connection is broken. */
const pingEveryMs = 1_000;
const silentMaxMs = 5_000;
/** Without a connection hints are lost, and a replica learns by one more request. */
const retryMs = 1_000;

/** KEYS[2]: the channel. A user of Redis without the right to channels sends nothing. */
export const hintScript = script(`${luaWindows}
redis.pcall('PUBLISH', KEYS[2], ARGV[3])
return {0}
`);

/** Sends over the connection of the counters, and reads from another one, which `listen` opens. */
export function createRedisHints({
  link,
  server,
  booksId,
}: {
  link: Pick<Link, 'run'>;
  server: KeyServer;
  booksId: string;
}): HintChannel & { close(): void } {
  let stop = () => {};
  return {
    send(text) {
      if (text.length <= textMax) void link.run(hintScript, ['hints'], [text]);
    },
    listen(take) {
      stop = listenTo(server, `${keysOf(booksId, server.tag)}hints`, (text) => text.length <= textMax && take(text));
    },
    close: () => stop(),
  };
}

/** Listens until it is stopped, over one connection after the other. */
function listenTo(server: KeyServer, channel: string, take: (text: string) => void): () => void {
  let timer: NodeJS.Timeout | null = null;
  let client: Awaited<ReturnType<typeof createRedisClient>> | null = null;
  let stopped = false;

  async function connect(): Promise<void> {
    const url = await server.url();
    const next = await createRedisClient({ url, pingInterval: pingEveryMs, socketTimeout: silentMaxMs });
    if (stopped) return;
    client = next;
    const over = () => {
      if (client !== next) return;
      leave();
      again();
    };
    next.on('error', over);
    next.on('end', over);
    try {
      await next.connect();
      await next.subscribe(channel, take);
    } catch {
      // Without the right to the channel there is a connection, which works.
      over();
    }
    if (client !== next) destroyQuietly(next);
  }

  function leave(): void {
    const last = client;
    client = null;
    if (last !== null) destroyQuietly(last);
  }

  function again(): void {
    if (stopped) return;
    timer = setTimeout(() => connect().catch(again), retryMs);
    timer.unref();
  }

  connect().catch(again);
  return () => {
    stopped = true;
    if (timer !== null) clearTimeout(timer);
    leave();
  };
}
