import type { ScreenshotWish } from '../page-renderer.ts';

/** What may be asked of a page. */
export const scrapeFormats = ['markdown', 'html', 'rawHtml', 'links', 'text', 'screenshot'] as const;
export type ScrapeFormat = (typeof scrapeFormats)[number];

/** How a page is to be read, checked; times in ms. */
export interface ScrapeOptions {
  formats: readonly ScrapeFormat[];
  onlyMainContent: boolean;
  /** CSS selectors; null = no wish. */
  includeTags: readonly string[] | null;
  excludeTags: readonly string[] | null;
  /** Pause in the browser after the page has loaded; above 0 it is rendered. */
  waitForMs: number;
  render: 'auto' | 'never' | 'always';
  /** How the format `screenshot` is wanted; absent: the window. */
  screenshot?: ScreenshotWish;
  /** Sent to the page; only names that a page may be told. */
  headers: Readonly<Record<string, string>>;
  timeoutMs: number;
  /** A kept page up to this age may be given; 0: always fetch. */
  maxAgeMs: number;
  mobile: boolean;
  /** Of the decoded body; null = `tools.scrape.max_bytes`. */
  maxBytes: number | null;
}

/** A page as it was read. What was not asked for is absent. */
export interface ScrapedPage {
  markdown?: string;
  html?: string;
  rawHtml?: string;
  /** Absolute, each once, in order. */
  links?: readonly string[];
  text?: string;
  /** `data:image/png;base64,…` */
  screenshot?: string;
  metadata: PageMetadata;
  /** In words: what was cut, what could not be done. */
  warnings: readonly string[];
}

export interface PageMetadata {
  title: string | null;
  description: string | null;
  language: string | null;
  /** As it was asked for. */
  sourceURL: string;
  /** Where redirects ended. */
  url: string;
  statusCode: number;
  contentType: string;
  cacheState: 'hit' | 'miss';
  renderer: 'none' | 'chromium';
  canonical: string | null;
  published: string | null;
  /** OpenGraph by property, such as `og:image`. */
  og: Readonly<Record<string, string>>;
}
