import type { FetchRefusal } from '../net/guarded-fetch.ts';

/** The port of browsers: pages after their scripts have run. Driver: `render/`. */
export interface PageRenderer {
  /** Why it cannot be done here, and how it can; null: it can. Looks at files alone. */
  missing(): string | null;
  /** Whether the browser confines pages with its own sandbox. */
  sandboxed(): boolean;
  /** Never rejects. Whatever the page does, it is over at `timeoutMs`. */
  render(order: RenderOrder): Promise<Rendered>;
  close(): Promise<void>;
}

export interface RenderOrder {
  /** The tenant whose turn it takes. */
  tenant: string;
  url: string;
  /** Lower-case; sent only to the origin of `url`, except for `user-agent`, which the browser sends everywhere. */
  headers: Readonly<Record<string, string>>;
  /** A phone: its width, touch, its name. */
  mobile: boolean;
  /** Pause after the page has loaded. */
  waitForMs: number;
  /** Null: none is taken. */
  screenshot: ScreenshotOptions | null;
  /** Asked before the page goes elsewhere, by redirects or scripts. A refusal is `redirects`. Null: anywhere. */
  mayFollow: ((url: URL) => Promise<boolean>) | null;
  /** Largest size of the finished document; a longer one is cut. */
  bytesMax: number;
  /** Waiting for a free browser included; a whole number. */
  timeoutMs: number;
  signal: AbortSignal;
}

export interface ScreenshotOptions {
  /** The whole page, or what fits the window. */
  fullPage: boolean;
  /** CSS pixels; null: the usual window. */
  viewport: { width: number; height: number } | null;
}

export type Rendered =
  | {
      ok: true;
      /** HTTP status of the main document's answer. */
      status: number;
      /** Where redirects and scripts ended; checked. */
      url: string;
      /** The document, UTF-8. */
      body: Buffer;
      /** The body is the beginning of a larger one. */
      cut: boolean;
      /** PNG; null when none was asked for, or none could be taken, which `warnings` says. */
      screenshot: Buffer | null;
      warnings: readonly string[];
    }
  /** `no-html`: the content needs no browser. `unfit`: no browser could be started. Messages name no address. */
  | {
      ok: false;
      reason: FetchRefusal | 'busy' | 'no-html' | 'unfit';
      message: string;
      /** The browser was kept busy by it to the end of its time, or fell over it. */
      worked?: boolean;
    };
