import { setTimeout as pause } from 'node:timers/promises';
import type { BrowserContext, BrowserContextOptions } from 'playwright-core';
import type { FetchGuard } from '../../net/fetch-guard.ts';
import { createHostTurns, HostBusy } from '../../net/host-turns.ts';
import type { ProxyPass } from '../../net/proxy-pass.ts';
import type { PageRenderer, Rendered, RenderOrder } from '../page-renderer.ts';
import { findChromium } from './find-chromium.ts';
import { BrowserUnfit, createBrowserKeeper, type RunningBrowser } from './keep-browser.ts';
import { playwrightInstalled } from './load-playwright.ts';
import { pageManners } from './page-manners.ts';
import { visitPage } from './visit-page.ts';

export interface ChromiumRendererParts {
  /** In force; asked anew for every request of a page. */
  guard(): FetchGuard;
  /** `tools.scrape.chromium`, in force. */
  chromium(): string | undefined;
  /** Who asks, behind the browser's own name. */
  userAgent(): string;
  nowMs(): number;
  /** For the operator's log. */
  onTrouble(message: string): void;
}

const pagesAtOnceMax = 2;
const waitingMax = 32;
/** Of the whole traffic of a page, in sizes of its document: pictures, scripts and fonts come beside it. */
const trafficFactor = 5;
const requestsMax = 2_000;
const closeMaxMs = 5_000;
const desktop = { width: 1280, height: 800 };
const phone = { width: 390, height: 844 };

/** Pages in Chromium: one browser, a fresh context for each, all traffic through the guarded proxy. */
export function createChromiumRenderer(parts: ChromiumRendererParts): PageRenderer {
  const { nowMs, onTrouble } = parts;
  const keeper = createBrowserKeeper({ guard: parts.guard, onTrouble });
  /** All pages wait for one thing alone, the browser. */
  const turns = createHostTurns({ atOnceMax: pagesAtOnceMax, waitingMax, hostsMax: 1, nowMs });

  function missing(): string | null {
    const named = parts.chromium();
    const found = findChromium(named) !== null;
    if (found && playwrightInstalled()) return null;
    const lacking = found
      ? 'the package playwright-core is not installed beside Culvert'
      : named === undefined
        ? 'there is no Chromium on this machine'
        : 'there is no file where tools.scrape.chromium points to';
    return `${lacking}. Install both: apt-get install chromium (Debian), and npm install playwright-core`;
  }

  async function inBrowser(order: RenderOrder, running: RunningBrowser, clock: PageClock): Promise<Rendered> {
    const { browser, proxy, userAgent, kill } = running;
    const pass = proxy.open({ bytesMax: trafficFactor * order.bytesMax, requestsMax });
    const opened = browser.newContext(contextOptions(order, proxy.url, pass, `${userAgent} ${parts.userAgent()}`));
    const broken = Promise.withResolvers<Rendered>();
    const breakOff = () => broken.resolve(crash);
    const die = () => broken.resolve(died);
    browser.once('disconnected', die);
    if (!browser.isConnected()) die();
    const visit = async (): Promise<Rendered> => {
      const context = await opened;
      await context.addInitScript(pageManners);
      context.on('page', (page) => page.once('crash', breakOff));
      return visitPage({ context, pass, order, leftMs: clock.leftMs });
    };
    try {
      const visited = visit().catch((error: unknown) => failed(error, browser.isConnected(), onTrouble));
      return await Promise.race([visited, broken.promise, clock.over]);
    } finally {
      browser.off('disconnected', die);
      pass.end();
      await closeContext(opened, kill);
    }
  }

  async function inTurn(order: RenderOrder): Promise<Rendered> {
    const path = findChromium(parts.chromium());
    if (path === null) return { ok: false, reason: 'unfit', message: missing() ?? 'there is no Chromium' };
    const endMs = nowMs() + order.timeoutMs;
    // What is refused at once starts no browser.
    const place = URL.parse(order.url);
    const verdict = place === null ? nowhere : await parts.guard().check(place);
    if (!verdict.ok) {
      return { ok: false, reason: verdict.reason === 'blocked' ? 'blocked' : 'unreachable', message: verdict.message };
    }
    const ending = AbortSignal.any([order.signal, AbortSignal.timeout(order.timeoutMs)]);
    const over = new Promise<Rendered>((resolve) => {
      const end = () => resolve(order.signal.aborted ? left : tooSlow);
      if (ending.aborted) end();
      ending.addEventListener('abort', end, { once: true });
    });
    const clock = { over, leftMs: () => Math.max(1, endMs - nowMs()) };
    const once = () => keeper.use(path, (running) => inBrowser(order, running, clock));
    // Killed or fallen over another page: a new one is a fair chance, and no more than one.
    const work = async () => {
      const rendered = await once();
      return rendered === died && !ending.aborted ? once() : rendered;
    };
    const rendered = turns.take('chromium', 0, ending, work).catch((error: unknown): Rendered => {
      if (error instanceof HostBusy) return busy;
      if (ending.aborted) return order.signal.aborted ? left : tooSlow;
      onTrouble(`Chromium could not be started: ${error instanceof BrowserUnfit ? error.message : String(error)}`);
      return unfit;
    });
    // A browser that starts slowly, or a page that closes slowly, keeps its place and nobody waiting.
    return Promise.race([rendered, over]);
  }

  return { missing, render: inTurn, close: keeper.close };
}

/** When it is over for one page. */
interface PageClock {
  leftMs(): number;
  /** Resolves then, with what that means. */
  over: Promise<Rendered>;
}

function contextOptions(
  { mobile, screenshot, headers }: RenderOrder,
  server: string,
  { user, password }: ProxyPass,
  userAgent: string,
): BrowserContextOptions {
  return {
    proxy: { server, username: user, password },
    viewport: screenshot?.viewport ?? (mobile ? phone : desktop),
    isMobile: mobile,
    hasTouch: mobile,
    userAgent:
      headers['user-agent'] ?? (mobile ? userAgent.replace(/\([^)]*\)/, '(Linux; Android 14; Mobile)') : userAgent),
    serviceWorkers: 'block',
    acceptDownloads: false,
  };
}

/** A context that does not close takes the browser with it: better all pages than one that never ends. */
async function closeContext(opened: Promise<BrowserContext>, kill: () => void): Promise<void> {
  const slow = new AbortController();
  const closing = opened.then((context) => context.close()).catch(() => undefined);
  const late = pause(closeMaxMs, undefined, { signal: slow.signal }).then(kill, () => undefined);
  await Promise.race([closing, late]);
  slow.abort();
}

function failed(error: unknown, connected: boolean, onTrouble: (message: string) => void): Rendered {
  const message = String(error instanceof Error ? error.message : error).slice(0, 500);
  if (!connected) return died;
  if (/has been closed|Target crashed|Page crashed/.test(message)) return crash;
  onTrouble(`a page could not be rendered: ${message}`);
  return crash;
}

const nowhere = { ok: false, reason: 'blocked', message: 'it is not a URL' } as const;
const crash = { ok: false, reason: 'broken', message: 'the browser broke off over it' } as const;
/** The browser itself is gone. */
const died: Rendered = { ok: false, reason: 'broken', message: 'the browser broke off over it' };
const tooSlow = { ok: false, reason: 'timeout', message: 'it took too long in the browser' } as const;
const left = { ok: false, reason: 'aborted', message: 'nobody waits for it any more' } as const;
const busy = { ok: false, reason: 'busy', message: 'too many pages wait for the browser already' } as const;
const unfit = {
  ok: false,
  reason: 'unfit',
  message: 'Chromium does not start on this machine; the log says why',
} as const;
