import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import type { ScreenshotOptions } from '../page-renderer.ts';

/** Formats of a page that a word requests. */
export const scrapeFormats = [
  'markdown',
  'html',
  'rawHtml',
  'links',
  'images',
  'text',
  'summary',
  'screenshot',
] as const;
/** `json` and `attributes` need options. */
export type ScrapeFormat = (typeof scrapeFormats)[number] | 'json' | 'attributes';

/** Whether a chat model is asked about the page. */
export function isWritten({ formats }: Pick<ScrapeOptions, 'formats'>): boolean {
  return formats.includes('summary') || formats.includes('json');
}

/** Values of one attribute, of all elements that a CSS selector finds. */
export interface AttributeSelector {
  selector: string;
  attribute: string;
}

/** The wish for a model's JSON about a page; at least one of the two. */
export interface JsonOptions {
  prompt: string | null;
  /** JSON Schema, a caller's: not checked. */
  schema: JsonObject | null;
}

/** The wanted parts of a page: formats, and their options. */
export interface FormatOptions {
  formats: readonly ScrapeFormat[];
  /** Absent: the window. */
  screenshot?: ScreenshotOptions;
  attributes?: readonly AttributeSelector[];
  json?: JsonOptions;
}

/** How a page is to be read, checked; times in ms. */
export interface ScrapeOptions extends FormatOptions {
  onlyMainContent: boolean;
  /** CSS selectors; null: none. */
  includeTags: readonly string[] | null;
  excludeTags: readonly string[] | null;
  /** Pause in the browser after the page has loaded; above 0 it is rendered. */
  waitForMs: number;
  render: 'auto' | 'never' | 'always';
  /** Sent to the page; only names that a page may get. */
  headers: Readonly<Record<string, string>>;
  timeoutMs: number;
  /** A kept page up to this age may be given; 0: always fetch. */
  maxAgeMs: number;
  mobile: boolean;
  /** Largest size of the decoded body; null: `tools.scrape.max_bytes`. */
  maxBytes: number | null;
}

/** A page as it was read. Parts that were not requested are absent. */
export interface ScrapedPage {
  markdown?: string;
  html?: string;
  rawHtml?: string;
  /** Absolute, each once, in order. */
  links?: readonly string[];
  /** Absolute addresses, each once. */
  images?: readonly string[];
  text?: string;
  /** In the order in which they were asked for. */
  attributes?: readonly AttributeValues[];
  /** Written by a model. */
  summary?: string;
  /** Written by a model; fits the schema that was given. */
  json?: JsonValue;
  /** `data:image/png;base64,…` */
  screenshot?: string;
  metadata: PageMetadata;
  /** In words: what was cut, and what could not be done. */
  warnings: readonly string[];
}

export interface AttributeValues extends AttributeSelector {
  values: readonly string[];
}

export interface PageMetadata {
  /** The one that wrote `summary` or `json`. */
  model?: string;
  title: string | null;
  description: string | null;
  language: string | null;
  /** The requested URL. */
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
