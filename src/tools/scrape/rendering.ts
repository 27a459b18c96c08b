import type { Failure } from '../../kernel/failure.ts';
import { HostBusy, type HostTurns } from '../../net/host-turns.ts';
import { busy, left, tooSlow } from '../../net/page-fetch.ts';
import type { PageOrder } from '../page-reader.ts';
import type { PageRenderer, Rendered } from '../page-renderer.ts';
import type { ScrapeOptions } from './scraped-page.ts';

/** When pages are rendered, and how one comes out of the browser. */
export interface Rendering {
  wayOf(options: ScrapeOptions): RenderWay | Failure;
  /** Why a page that needs it is not rendered automatically, with the fix; null: it is. */
  missing(): string | null;
  /** A turn at its host, as for a fetch. Never rejects. */
  render(order: PageOrder, bounds: { bytesMax: number; timeoutMs: number }): Promise<Rendered>;
  close(): Promise<void>;
}

/** `as-needed`: fetched, and rendered when there is next to nothing of it without its scripts. */
export type RenderWay = 'plain' | 'rendered' | 'as-needed';

export interface RenderingParts {
  renderer: PageRenderer;
  /** `tools.scrape.render`, in force: the default for callers; `never` holds for all. */
  rule(): ScrapeOptions['render'];
  /** `tools.scrape.render_without_sandbox`, in force. */
  withoutSandbox(): boolean;
  /** The same that fetches wait for. */
  turns: HostTurns;
}

/** A page that breaks out of its renderer has the server's rights: only a caller that asks takes that risk. */
const noSandbox =
  "Chromium has no sandbox here, because the server runs as root. A page is rendered only if the call says render: 'always', or the server tools.scrape.render_without_sandbox: true";
const switchedOff = 'rendering is switched off here (tools.scrape.render: never)';

export function createRendering({ renderer, rule, withoutSandbox, turns }: RenderingParts): Rendering {
  const missing = () => (rule() === 'never' ? switchedOff : renderer.missing());

  function wayOf(options: ScrapeOptions): RenderWay | Failure {
    const need = needOf(options) ?? (options.render === 'auto' && rule() === 'always' ? 'This server' : null);
    if (need === null) return options.render === 'never' ? 'plain' : 'as-needed';
    const why = missing();
    return why === null ? 'rendered' : { kind: 'unsupported', message: `${need} needs Chromium, but ${why}.` };
  }

  return {
    wayOf,
    missing: () => missing() ?? (renderer.sandboxed() || withoutSandbox() ? null : noSandbox),
    async render({ tenant, url, options, paced, mayFollow = null, signal }, bounds) {
      const { headers, mobile, waitForMs, formats } = options;
      const screenshot = formats.includes('screenshot') ? (options.screenshot ?? usualScreenshot) : null;
      const page = { tenant, url, headers, mobile, waitForMs, screenshot, mayFollow };
      const render = () => renderer.render({ ...page, ...bounds, signal });
      if (paced) return render();
      const ending = AbortSignal.any([signal, AbortSignal.timeout(bounds.timeoutMs)]);
      try {
        return await turns.take({ tenant, host: URL.parse(url)?.host ?? '', delayMs: 0 }, ending, render);
      } catch (error) {
        if (error instanceof HostBusy) return busy;
        if (ending.aborted) return signal.aborted ? left : tooSlow;
        throw error;
      }
    },
    close: renderer.close,
  };
}

function needOf({ formats, waitForMs, render }: ScrapeOptions): string | null {
  if (formats.includes('screenshot')) return "The format 'screenshot'";
  if (waitForMs > 0) return "'waitFor'";
  return render === 'always' ? "'render: always'" : null;
}

const usualScreenshot = { fullPage: false, viewport: null };
