import type { BrowserContext, BrowserContextOptions } from 'playwright-core';
import { withinMs } from '../../kernel/within-ms.ts';
import type { FetchGuard } from '../../net/fetch-guard.ts';
import type { ProxyPass } from '../../net/proxy-pass.ts';
import type { Rendered } from '../page-renderer.ts';
import type { MayFollow } from './hold-requests.ts';
import { type BrowserKeeper, BrowserUnfit, type RunningBrowser } from './keep-browser.ts';
import type { PageVisit, VisitEnd } from './render-message.ts';
import { visitPage } from './visit-page.ts';

export interface VisitParts {
  keeper: BrowserKeeper;
  /** Guard of all requests of the page. */
  guard: FetchGuard;
  mayFollow: MayFollow | null;
  /** Aborted when nobody waits any more; its result is then of no use. */
  signal: AbortSignal;
  /** For the operator's log. */
  onTrouble(message: string): void;
}

/** Whole traffic of a page, in sizes of its document: pictures, scripts and fonts are added to it. */
const trafficFactor = 5;
const requestsMax = 2_000;
const closeMaxMs = 5_000;
const desktop = { width: 1280, height: 800 };
const phone = { width: 390, height: 844 };

/** A page in its own browser context. Never rejects; resolves when the context is closed, or the browser gone. */
export async function visitInBrowser(visit: PageVisit, parts: VisitParts): Promise<VisitEnd> {
  const endMs = performance.now() + visit.timeoutMs;
  const leftMs = () => Math.max(1, endMs - performance.now());
  try {
    return await parts.keeper.use(visit.chromium, (running) => inContext(visit, parts, { running, leftMs }));
  } catch (error) {
    parts.onTrouble(`Chromium could not be started: ${error instanceof BrowserUnfit ? error.message : String(error)}`);
    return unfit;
  }
}

async function inContext(
  visit: PageVisit,
  { guard, mayFollow, signal, onTrouble }: VisitParts,
  { running, leftMs }: { running: RunningBrowser; leftMs(): number },
): Promise<VisitEnd> {
  const { browser, proxy, userAgent, kill } = running;
  if (signal.aborted) return 'died';
  const pass = proxy.open({ bytesMax: trafficFactor * visit.bytesMax, requestsMax }, guard);
  const opened = browser.newContext(contextOptions(visit, proxy.url, pass, `${userAgent} ${visit.userAgent}`));
  const broken = Promise.withResolvers<VisitEnd>();
  const breakOff = () => broken.resolve(crash);
  const die = () => broken.resolve('died');
  browser.once('disconnected', die);
  if (!browser.isConnected()) die();
  signal.addEventListener('abort', die, { once: true });
  const visited = async (): Promise<Rendered> => {
    const context = await opened;
    await context.addInitScript(pageManners);
    context.on('page', (page) => page.once('crash', breakOff));
    return visitPage({ context, pass, order: visit, mayFollow, signal, leftMs });
  };
  try {
    const ended = visited().catch((error: unknown) => failed(error, browser.isConnected(), onTrouble));
    return await Promise.race([ended, broken.promise]);
  } finally {
    browser.off('disconnected', die);
    signal.removeEventListener('abort', die);
    pass.end();
    await closeContext(opened, kill);
  }
}

function contextOptions(
  { mobile, screenshot, headers }: PageVisit,
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
  const closing = opened.then((context) => context.close()).catch(() => undefined);
  if ((await withinMs(closeMaxMs, closing, 'late')) === 'late') kill();
}

function failed(error: unknown, connected: boolean, onTrouble: (message: string) => void): VisitEnd {
  const message = String(error instanceof Error ? error.message : error).slice(0, 500);
  if (!connected) return 'died';
  if (/has been closed|Target crashed|Page crashed/.test(message)) return crash;
  onTrouble(`a page could not be rendered: ${message}`);
  return crash;
}

const crash: Rendered = { ok: false, reason: 'broken', message: 'the browser broke off while it rendered the page' };
const unfit: Rendered = {
  ok: false,
  reason: 'unfit',
  message: 'Chromium does not start on this machine; the log says why',
};

/**
 * Runs in every frame before its scripts. It is not a safeguard, which the proxy is: these features would only keep a
 * page busy or waiting. A socket fails as behind many a proxy, so that pages fall back to other ways.
 */
const pageManners = `(() => {
  for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'WebTransport']) delete globalThis[name];
  class WebSocket extends EventTarget {
    static CONNECTING = 0;
    static OPEN = 1;
    static CLOSING = 2;
    static CLOSED = 3;
    readyState = 3;
    bufferedAmount = 0;
    protocol = '';
    extensions = '';
    binaryType = 'blob';
    onopen = null;
    onmessage = null;
    onerror = null;
    onclose = null;
    constructor(url) {
      super();
      this.url = String(url);
      setTimeout(() => {
        for (const type of ['error', 'close']) {
          const event = new Event(type);
          this['on' + type]?.(event);
          this.dispatchEvent(event);
        }
      });
    }
    send() {}
    close() {}
  }
  globalThis.WebSocket = WebSocket;
  globalThis.print = () => undefined;
  globalThis.open = () => null;
})();`;
