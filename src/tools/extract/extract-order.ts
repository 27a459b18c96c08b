import type { Failure } from '../../kernel/failure.ts';
import type { AttributeSelector, AttributeValues, PageMetadata } from '../scrape/scraped-page.ts';

/** Type of a page by its declared type and first bytes. */
export type PageKind = 'html' | 'pdf' | 'text' | 'json' | 'xml';

/** The wanted parts of a page: everything that the extraction depends on except the bytes. */
export interface ExtractOptions {
  onlyMainContent: boolean;
  /** CSS selectors; null: none. */
  includeTags: readonly string[] | null;
  excludeTags: readonly string[] | null;
  rawHtml: boolean;
  /** Absent: not wanted. */
  images?: boolean;
  attributes?: readonly AttributeSelector[];
}

/** One page for a thread: answered once with the same `id`. */
export interface ExtractOrder {
  id: number;
  kind: PageKind;
  body: Uint8Array<ArrayBuffer>;
  /** Address of the page, for relative links. */
  url: string;
  contentType: string;
  /** `plain`: text only, without a document; for pages that are too large or broke the other way. */
  way: 'document' | 'plain';
  options: ExtractOptions;
}

/** Selectors in which callers name elements. */
export type SelectorField = 'includeTags' | 'excludeTags' | 'formats';

/** Result of a page, whichever thread had it. */
export type ExtractOutcome =
  | { kind: 'extracted'; extracted: Extracted }
  | { kind: 'wrong'; field: SelectorField; message: string }
  /** `killed`: it took too much of the processor, or all the memory of its thread. In words about the page. */
  | { kind: 'unfit'; why: string; killed: boolean }
  /** The caller's time was over while a thread was at it: this says nothing about the page. */
  | { kind: 'late' }
  | { kind: 'busy'; failure: Failure }
  /** `begun`: a thread was at it. */
  | { kind: 'aborted'; begun: boolean };

/** Facts that a page states about itself. */
export type PageFacts = Pick<PageMetadata, 'title' | 'description' | 'language' | 'canonical' | 'published' | 'og'>;

export interface Extracted {
  markdown: string;
  text: string;
  /** Cleaned of scripts, with absolute addresses. */
  html: string;
  rawHtml: string | null;
  /** Absolute, each once, in order. */
  links: readonly string[];
  /** Absent where they were not wanted, or where there is no document: as `attributes`. */
  images?: readonly string[];
  attributes?: readonly AttributeValues[];
  facts: PageFacts;
  warnings: readonly string[];
}

export type ExtractReply =
  | { id: number; extracted: Extracted }
  /** A selector of the caller that cannot be read. */
  | { id: number; wrong: { field: SelectorField; message: string } }
  /** The document is not fit for the way; the plain way may do. */
  | { id: number; unfit: string }
  | { id: number; error: string };

export const noFacts: PageFacts = {
  title: null,
  description: null,
  language: null,
  canonical: null,
  published: null,
  og: {},
};
