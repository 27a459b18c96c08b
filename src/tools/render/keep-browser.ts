import type { Browser } from 'playwright-core';
import { withinMs } from '../../kernel/within-ms.ts';
import { type GuardedProxy, startGuardedProxy } from '../../net/guarded-proxy.ts';
import { startOptions } from './chromium-start.ts';
import { loadPlaywright } from './load-playwright.ts';

/** The one browser of its thread: started at the first page, and anew for the next when it has died. */
export interface BrowserKeeper {
  /** Runs `work` with a browser that is alive at its beginning. Rejects with `BrowserUnfit` when none can be started. */
  use<T>(executablePath: string, work: (running: RunningBrowser) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface RunningBrowser {
  browser: Browser;
  proxy: GuardedProxy;
  /** Its own User-Agent, without the word that says that it has no window. */
  userAgent: string;
  /** At once, with all its pages: for a browser that cannot be closed otherwise. */
  kill(): void;
}

/** Chromium is there and does not start: the message is for the operator. */
export class BrowserUnfit extends Error {}

export interface KeeperOptions {
  /** An empty folder of ours, which is the browser's. */
  home: string;
  /** The process to kill when this thread is lost; null: it has gone. */
  onBrowser(pid: number | null): void;
}

const closeMaxMs = 5_000;

interface CurrentBrowser {
  path: string;
  running: RunningBrowser;
  users: number;
}

export function createBrowserKeeper({ home, onBrowser }: KeeperOptions): BrowserKeeper {
  let starting: Promise<CurrentBrowser> | null = null;
  let cached: CurrentBrowser | null = null;
  let closed = false;

  async function start(path: string): Promise<CurrentBrowser> {
    const proxy = await startGuardedProxy();
    try {
      const browser = await (await loadPlaywright()).launch(startOptions(path, proxy.url, home));
      const { pid, ...facts } = await factsOf(browser);
      const started: CurrentBrowser = { path, running: { browser, proxy, ...facts }, users: 0 };
      browser.once('disconnected', () => {
        if (cached === started) cached = null;
        onBrowser(null);
        void proxy.close();
      });
      onBrowser(pid);
      return started;
    } catch (error) {
      void proxy.close();
      throw new BrowserUnfit(reasonIn(String(error instanceof Error ? error.message : error)));
    }
  }

  async function current(path: string): Promise<CurrentBrowser> {
    for (;;) {
      if (closed) throw new BrowserUnfit('the server is stopping');
      if (starting !== null) await starting.catch(() => undefined);
      else if (cached === null) {
        starting = start(path);
        try {
          cached = await starting;
          // Nobody waited for it: it ends as it came.
          if (closed) await letGo(cached);
        } finally {
          starting = null;
        }
      } else if (cached.path !== path && cached.users === 0) await letGo(cached);
      else return cached;
    }
  }

  async function letGo(one: CurrentBrowser): Promise<void> {
    if (cached === one) cached = null;
    const { browser, kill } = one.running;
    const closing = browser.close().catch(() => undefined);
    if ((await withinMs(closeMaxMs, closing, 'late')) === 'late') kill();
  }

  return {
    async use(path, work) {
      const one = await current(path);
      one.users += 1;
      try {
        return await work(one.running);
      } finally {
        one.users -= 1;
      }
    },
    async close() {
      closed = true;
      // One that starts ends with this thread, whose pipe it reads from.
      if (cached !== null) await letGo(cached);
    },
  };
}

const errorLinesMax = 5;
const errorCharsMax = 1_000;

/** The error and the last lines of Chromium's own output, without its hundred flags. */
function reasonIn(message: string): string {
  const errorLines = message.split('\n').filter((line) => /\[err\]/.test(line));
  const lines = [
    message.split('\n', 1)[0],
    ...errorLines.slice(-errorLinesMax).map((line) => line.replace(/^.*\[err\] /, '')),
  ];
  return lines.join(' | ').slice(0, errorCharsMax);
}

async function factsOf(browser: Browser): Promise<Pick<RunningBrowser, 'userAgent' | 'kill'> & { pid: number | null }> {
  const session = await browser.newBrowserCDPSession();
  const { userAgent } = await session.send('Browser.getVersion');
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const pid = processInfo.find(({ type }) => type === 'browser')?.id ?? null;
  await session.detach();
  return {
    pid,
    userAgent: userAgent.replace('HeadlessChrome', 'Chrome'),
    kill() {
      if (pid === null || !browser.isConnected()) return;
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has gone meanwhile.
      }
    },
  };
}
