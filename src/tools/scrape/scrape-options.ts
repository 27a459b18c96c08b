import { FailureError, invalid } from '../../kernel/failure.ts';
import { isObject } from '../../kernel/json.ts';
import {
  isHeaderValue,
  isPageHeader,
  pageHeaderCharsMax,
  pageHeaderNames,
  pageHeadersMax,
} from '../../net/page-headers.ts';
import type { ToolFields } from '../tool-fields.ts';
import { readFormats } from './read-formats.ts';
import { isWritten, type ScrapeOptions } from './scraped-page.ts';

export const timeoutMaxMs = 300_000;
const timeoutDefaultMs = 30_000;
/** For a model that writes about the page, which takes its time. */
const writtenTimeoutMs = 60_000;
const waitForMaxMs = 60_000;
/** Two days, as Firecrawl's. */
const maxAgeDefaultMs = 172_800_000;
const maxAgeMaxMs = 365 * 86_400_000;
const bytesMaxMax = 100 * 1024 * 1024;
const selectors = { itemsMax: 50, charsMax: 500 };
export const pageUrlCharsMax = 8_192;

/** Options of a page, and the ignored members (for `warning`). */
export interface ReadOptions {
  options: ScrapeOptions;
  warnings: readonly string[];
}

/** The members of a scrape request, or of another's `scrapeOptions`. Throws a FailureError (400) for a wrong one. */
export function readScrapeOptions(fields: ToolFields): ReadOptions {
  const warnings: string[] = [];
  const formats = readFormats(fields, warnings);
  const maxBytes = fields.whole('maxBytes', { min: 0, max: bytesMaxMax, default: 0 });
  const options: ScrapeOptions = {
    ...formats,
    onlyMainContent: fields.truth('onlyMainContent', true),
    includeTags: nonEmpty(fields.texts('includeTags', selectors)),
    excludeTags: nonEmpty(fields.texts('excludeTags', selectors)),
    waitForMs: fields.whole('waitFor', { min: 0, max: waitForMaxMs, default: 0 }),
    render: fields.oneOf('render', ['auto', 'never', 'always']) ?? 'auto',
    headers: headersIn(fields, warnings),
    timeoutMs: fields.whole('timeout', {
      min: 1,
      max: timeoutMaxMs,
      default: isWritten(formats) ? writtenTimeoutMs : timeoutDefaultMs,
    }),
    maxAgeMs: fields.whole('maxAge', { min: 0, max: maxAgeMaxMs, default: maxAgeDefaultMs }),
    mobile: fields.truth('mobile', false),
    maxBytes: maxBytes === 0 ? null : maxBytes,
  };
  refuseContradictions(fields, options);
  return { options, warnings };
}

function refuseContradictions(fields: ToolFields, { render, formats, waitForMs, timeoutMs }: ScrapeOptions): void {
  const rendered = formats.includes('screenshot') || waitForMs > 0;
  if (render === 'never' && rendered)
    fields.refuse('render', "auto or always with 'waitFor' or the format screenshot, which need a browser");
  if (waitForMs >= timeoutMs && waitForMs > 0)
    fields.refuse('waitFor', `shorter than 'timeout' (${timeoutMs} ms), which you may raise`);
}

/** The address of a page or site, as the caller wrote it. The guard decides where it may lead. */
export function readUrl(fields: ToolFields): string {
  const text = fields.text('url', { min: 1, max: pageUrlCharsMax })?.trim();
  if (text === undefined) throw new FailureError(invalid('url', "'url' is missing. Send the address of a page."));
  const url = addressOf(text);
  if (url === null) {
    throw new FailureError(invalid('url', "'url' is not the address of a page, such as https://example.org/page."));
  }
  return url;
}

/** The address that a person wrote, perhaps without the scheme; null: it is not an address. */
export function addressOf(text: string): string | null {
  const url = /^[a-z][a-z0-9+.-]*:(?!\d)/i.test(text) ? text : `https://${text.replace(/^\/\//, '')}`;
  return URL.parse(url) === null ? null : url;
}

function nonEmpty(texts: readonly string[] | null): readonly string[] | null {
  return texts === null || texts.length === 0 ? null : texts;
}

function headersIn(fields: ToolFields, warnings: string[]): Record<string, string> {
  const value = fields.value('headers');
  if (value === undefined) return {};
  if (!isObject(value)) return fields.refuse('headers', 'an object of strings');
  const entries = Object.entries(value);
  if (entries.length > pageHeadersMax)
    return fields.refuse('headers', `an object of at most ${pageHeadersMax} members`);
  const headers: Record<string, string> = {};
  const ignored: string[] = [];
  for (const [name, text] of entries) {
    if (typeof text !== 'string' || !isHeaderValue(text)) {
      const shown = JSON.stringify(name.slice(0, 60)).slice(1, -1);
      return fields.refuse(
        'headers',
        `an object of strings of visible characters, at most ${pageHeaderCharsMax} each, which '${shown}' is not`,
      );
    }
    if (isPageHeader(name)) headers[name.toLowerCase()] = text;
    else ignored.push(JSON.stringify(name.slice(0, 60)).slice(1, -1));
  }
  if (ignored.length > 0) {
    warnings.push(
      `Culvert does not send these headers to pages: ${ignored.join(', ')}. It sends only ${pageHeaderNames.join(', ')}.`,
    );
  }
  return headers;
}
