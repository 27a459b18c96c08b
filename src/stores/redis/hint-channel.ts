import type { HintChannel } from '../../books/metering/hint-channel.ts';
import { keysOf } from './keys.ts';
import type { Link } from './link.ts';
import { luaWindows } from './lua-windows.ts';
import { createRedisClient } from './redis-client.ts';
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
  let client: { destroy(): void } | null = null;
  let stopped = false;

  async function connect(): Promise<void> {
    const next = await createRedisClient({
      url: await server.url(),
      pingInterval: pingEveryMs,
      socket: { socketTimeout: silentMaxMs },
    });
    client = next;
    next.on('error', again);
    next.on('end', again);
    await next.connect();
    await next.subscribe(channel, take);
    if (stopped) next.destroy();
  }

  function again(): void {
    if (stopped || timer !== null) return;
    timer = setTimeout(() => {
      timer = null;
      connect().catch(again);
    }, retryMs);
    timer.unref();
  }

  connect().catch(again);
  return () => {
    stopped = true;
    if (timer !== null) clearTimeout(timer);
    try {
      client?.destroy();
    } catch {
      // It is closed already.
    }
  };
}
