import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import type { FetchGuard } from '../../net/fetch-guard.ts';
import { type GuardedProxy, startGuardedProxy } from '../../net/guarded-proxy.ts';
import { runsAsRoot, startOptions } from './chromium-start.ts';
import { loadPlaywright } from './load-playwright.ts';

/** The one browser of this process: started at the first page, let go after a while without any. */
export interface BrowserKeeper {
  /** Runs `work` with a browser that is alive at its beginning. Rejects with `BrowserUnfit` when none can be started. */
  use<T>(executablePath: string, work: (running: RunningBrowser) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface RunningBrowser {
  browser: Browser;
  proxy: GuardedProxy;
  /** As it calls itself, but for saying that it has no window. */
  userAgent: string;
  /** At once, with all its pages: for what cannot be closed otherwise. */
  kill(): void;
}

/** Chromium is there and does not start: the message is for the operator. */
export class BrowserUnfit extends Error {}

export interface KeeperOptions {
  /** In force. */
  guard(): FetchGuard;
  /** For the operator's log. */
  onTrouble(message: string): void;
}

/** It takes some 200 MB: unused, it is let go. */
const idleMs = 60_000;
const closeMaxMs = 5_000;

interface Kept {
  path: string;
  running: RunningBrowser;
  users: number;
  idle: NodeJS.Timeout | null;
}

export function createBrowserKeeper({ guard, onTrouble }: KeeperOptions): BrowserKeeper {
  let starting: Promise<Kept> | null = null;
  let kept: Kept | null = null;
  let closed = false;
  let rootTold = false;

  async function start(path: string): Promise<Kept> {
    if (runsAsRoot() && !rootTold) {
      rootTold = true;
      onTrouble('Chromium runs without its sandbox, because this server runs as root: run it as another user');
    }
    const proxy = await startGuardedProxy(guard);
    const home = await mkdtemp(join(tmpdir(), 'culvert-chromium-'));
    const tidy = async () => {
      await proxy.close();
      // Its processes end a moment after it.
      await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }).catch(() => undefined);
    };
    try {
      const browser = await (await loadPlaywright()).launch(startOptions(path, proxy.url, home));
      const running = { browser, proxy, ...(await factsOf(browser)) };
      const started: Kept = { path, running, users: 0, idle: null };
      browser.once('disconnected', () => {
        if (kept === started) kept = null;
        forgetIdle(started);
        void tidy();
      });
      return started;
    } catch (error) {
      void tidy();
      throw new BrowserUnfit(reasonIn(String(error instanceof Error ? error.message : error)));
    }
  }

  async function current(path: string): Promise<Kept> {
    for (;;) {
      if (closed) throw new BrowserUnfit('the server is stopping');
      if (starting !== null) await starting.catch(() => undefined);
      else if (kept === null) {
        starting = start(path);
        try {
          kept = await starting;
          // Nobody waited for it: it goes as it came.
          if (closed) await letGo(kept);
        } finally {
          starting = null;
        }
      } else if (kept.path !== path && kept.users === 0) await letGo(kept);
      else return kept;
    }
  }

  function forgetIdle(one: Kept): void {
    if (one.idle !== null) clearTimeout(one.idle);
    one.idle = null;
  }

  async function letGo(one: Kept): Promise<void> {
    if (kept === one) kept = null;
    forgetIdle(one);
    const { browser, kill } = one.running;
    const slow = new AbortController();
    const late = pause(closeMaxMs, undefined, { signal: slow.signal }).then(kill, () => undefined);
    await Promise.race([browser.close().catch(() => undefined), late]);
    slow.abort();
  }

  return {
    async use(path, work) {
      const one = await current(path);
      forgetIdle(one);
      one.users += 1;
      try {
        return await work(one.running);
      } finally {
        one.users -= 1;
        if (one.users === 0 && one === kept) {
          one.idle = setTimeout(() => void letGo(one), idleMs);
          one.idle.unref();
        }
      }
    },
    async close() {
      closed = true;
      if (starting !== null) await Promise.race([starting.catch(() => undefined), pause(closeMaxMs)]);
      if (kept !== null) await letGo(kept);
    },
  };
}

const saidLinesMax = 5;
const saidCharsMax = 1_000;

/** What went wrong, and of what Chromium said itself the last lines; not the hundred flags it was started with. */
function reasonIn(message: string): string {
  const said = message.split('\n').filter((line) => /\[err\]/.test(line));
  const lines = [
    message.split('\n', 1)[0],
    ...said.slice(-saidLinesMax).map((line) => line.replace(/^.*\[err\] /, '')),
  ];
  return lines.join(' | ').slice(0, saidCharsMax);
}

async function factsOf(browser: Browser): Promise<Pick<RunningBrowser, 'userAgent' | 'kill'>> {
  const session = await browser.newBrowserCDPSession();
  const { userAgent } = await session.send('Browser.getVersion');
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const pid = processInfo.find(({ type }) => type === 'browser')?.id;
  await session.detach();
  return {
    userAgent: userAgent.replace('HeadlessChrome', 'Chrome'),
    kill() {
      if (pid === undefined || !browser.isConnected()) return;
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has gone meanwhile.
      }
    },
  };
}
