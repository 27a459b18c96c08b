import { FailureError } from '../../kernel/failure.ts';
import { installCommand } from '../../kernel/optional-package.ts';
import { createTurns } from '../../kernel/sharing/turns.ts';
import { createFetchGuard, type FetchRules, type ResolveAddresses } from '../../net/fetch-guard.ts';
import type { PageRenderer, Rendered, RenderOrder } from '../page-renderer.ts';
import { createBrowserHomes } from './browser-homes.ts';
import { runsAsRoot } from './chromium-start.ts';
import { findChromium } from './find-chromium.ts';
import { playwrightInstalled } from './load-playwright.ts';
import type { VisitEnd } from './render-message.ts';
import { createRenderThread } from './render-thread.ts';

export interface ChromiumRendererParts {
  /** In force; taken anew for every page. */
  rules(): FetchRules;
  resolve: ResolveAddresses;
  /** `tools.scrape.chromium`, in force. */
  chromium(): string | undefined;
  /** Our name, added to the browser's own. */
  userAgent(): string;
  /** One process's alone: what its browsers left is known by it. */
  dataDir: string;
  nowMs(): number;
  /** For the operator's log. */
  onTrouble(message: string): void;
}

/** One tenant may have two. */
const pagesAtOnceMax = 3;
const waitingMax = 64;

/** Pages in Chromium: one browser, a fresh context for each, all traffic through the guarded proxy, in one thread. */
export function createChromiumRenderer(parts: ChromiumRendererParts): PageRenderer {
  const { resolve, nowMs, onTrouble } = parts;
  const thread = createRenderThread({ homes: createBrowserHomes(parts.dataDir), resolve, onTrouble });
  const turns = createTurns({ name: 'Pages to render', places: pagesAtOnceMax, waitingMax });

  function missing(): string | null {
    const named = parts.chromium();
    const found = findChromium(named) !== null;
    if (found && playwrightInstalled()) return null;
    const lacking = found
      ? 'the package playwright-core is not installed next to Culvert'
      : named === undefined
        ? 'there is no Chromium on this machine'
        : 'the file that tools.scrape.chromium names does not exist';
    return `${lacking}. Install both: apt-get install chromium (Debian), and ${installCommand('playwright-core')}`;
  }

  async function render(order: RenderOrder): Promise<Rendered> {
    const chromium = findChromium(parts.chromium());
    if (chromium === null) return { ok: false, reason: 'unfit', message: missing() ?? 'there is no Chromium' };
    const endMs = nowMs() + order.timeoutMs;
    const rules = parts.rules();
    // A page that is refused at once starts no browser.
    const place = URL.parse(order.url);
    const verdict = place === null ? nowhere : await createFetchGuard(rules, resolve).check(place);
    if (!verdict.ok) {
      return { ok: false, reason: verdict.reason === 'blocked' ? 'blocked' : 'unreachable', message: verdict.message };
    }
    const ending = AbortSignal.any([order.signal, AbortSignal.timeout(order.timeoutMs)]);
    const over = new Promise<Rendered>((resolve) => {
      const end = () => resolve(order.signal.aborted ? left : tooSlow);
      if (ending.aborted) end();
      ending.addEventListener('abort', end, { once: true });
    });
    const { signal: _, tenant, mayFollow, ...page } = order;
    let began = false;
    const once = () => {
      const timeoutMs = Math.max(1, Math.floor(endMs - nowMs()));
      const visit = { ...page, timeoutMs, chromium, userAgent: parts.userAgent(), rules };
      return thread.visit(visit, { mayFollow, signal: ending });
    };
    // Killed or fallen over another page: a new one is a fair chance, and no more than one.
    const work = async () => {
      began = true;
      const end = await once();
      return renderedOf(end === 'died' && !ending.aborted ? await once() : end);
    };
    const rendered = turns.run(tenant, ending, work).catch((error: unknown): Rendered => {
      if (error instanceof FailureError) return busy;
      if (ending.aborted) return order.signal.aborted ? left : tooSlow;
      onTrouble(`a page could not be rendered: ${error instanceof Error ? error.message : String(error)}`);
      return crash;
    });
    // A browser that starts slowly, or a page that closes slowly, keeps its place but keeps nobody waiting.
    const end = await Promise.race([rendered, over]);
    return !end.ok && began && killedFor.has(end.reason) ? { ...end, worked: true } : end;
  }

  return { missing, sandboxed: () => !runsAsRoot(), render, close: thread.close };
}

/** Bytes from another thread are not Buffers. */
function renderedOf(end: VisitEnd): Rendered {
  if (end === 'died') return crash;
  if (!end.ok) return end;
  return { ...end, body: bufferOf(end.body), screenshot: end.screenshot === null ? null : bufferOf(end.screenshot) };
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

const nowhere = { ok: false, reason: 'blocked', message: 'it is not a URL' } as const;
/** Ends of a page that had the browser, and might have had it for ever. */
const killedFor: ReadonlySet<string> = new Set(['timeout', 'broken', 'aborted']);
const crash = { ok: false, reason: 'broken', message: 'the browser broke off while it rendered the page' } as const;
const tooSlow = { ok: false, reason: 'timeout', message: 'it took too long in the browser' } as const;
const left = { ok: false, reason: 'aborted', message: 'the caller no longer waits for it' } as const;
const busy = {
  ok: false,
  reason: 'busy',
  message: 'too many pages of this key, or of all keys, wait for the browser already',
} as const;
