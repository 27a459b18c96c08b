import type { JsonObject } from '../../kernel/json.ts';

/** A source that an answer names: a page of the web, or a file or document that the model was given. */
export interface Citation {
  /** Address of the page; null for a file or document. */
  url: string | null;
  /** Title of the page or document, name of the file; '' when not given. */
  title: string;
  /** The words of the source; '' when not given. */
  quote: string;
  /**
   * The words of the answer that rest on it: UTF-16 units of the choice's text, `end` not included. Absent if unknown:
   * then it is at the end of the text so far.
   */
  span?: Span;
  /** Id of the file at its provider. */
  fileId?: string;
  /** Index of the document, from 0: among those of the request, or among pages that were fetched for the answer. */
  document?: number;
  /** The citation as the dialect `vendor` tells it: that dialect repeats it, the others write their own. */
  vendorPart?: { vendor: string; block: JsonObject };
}

export interface Span {
  start: number;
  end: number;
}

/** Citations of one choice; a search cites some dozens. Further ones are left out, and reported. */
export const citationsMax = 1_000;
