import { isUtf8 } from 'node:buffer';
import { decodePage } from '../../tools/extract/decode-page.ts';
import type { ExtractPool } from '../../tools/extract/extract-pool.ts';
import { pageKindOf } from '../../tools/extract/page-kind.ts';
import type { FileError } from './store-facts.ts';

export type ReadFileText = (
  tenant: string,
  file: { name: string; mediaType: string | null; content: Uint8Array<ArrayBuffer> },
  signal: AbortSignal,
) => Promise<{ text: string } | FileError | 'later'>;

/** Largest file of which the text is read. */
export const fileBytesMax = 32 * 1024 * 1024;
/** Most characters of a file's text: about a million tokens. */
export const textCharsMax = 2_000_000;
const readTimeoutMs = 60_000;

const typeByEnding: Readonly<Record<string, string>> = {
  html: 'text/html',
  htm: 'text/html',
  json: 'application/json',
  pdf: 'application/pdf',
};

/** Files of text as they are; the main text of HTML and PDF by the threads that read pages of the web. */
export function createFileReader(pool: Pick<ExtractPool, 'extract'>): ReadFileText {
  return async (tenant, { name, mediaType, content }, signal) => {
    const ending = /\.([A-Za-z0-9]{1,10})$/.exec(name)?.[1]?.toLowerCase() ?? '';
    const contentType = typeByEnding[ending] ?? declaredType(mediaType);
    const kind = pageKindOf(contentType, content);
    if (kind === null) return unsupported(name);
    if (kind !== 'html' && kind !== 'pdf') return content.length > 3 * textCharsMax ? tooLong : textOf(content);
    const options = { onlyMainContent: false, includeTags: null, excludeTags: null, rawHtml: false };
    const order = { kind, body: content, url: 'file:///', contentType, way: 'document', options } as const;
    let outcome = await pool.extract(tenant, order, readTimeoutMs, signal);
    if (outcome.kind === 'unfit' && kind === 'html') {
      outcome = await pool.extract(tenant, { ...order, way: 'plain' }, readTimeoutMs, signal);
    }
    switch (outcome.kind) {
      case 'extracted':
        return bounded(outcome.extracted.markdown);
      case 'unfit':
        return { code: 'invalid_file', message: `The file cannot be read: ${outcome.why}.` };
      case 'wrong':
        throw new Error(`a selector that nobody gave is wrong: ${outcome.message}`);
      case 'late':
      case 'busy':
      case 'aborted':
        return 'later';
    }
  };
}

/** '' where the client did not know it. */
function declaredType(mediaType: string | null): string {
  return mediaType === null || mediaType.startsWith('application/octet-stream') ? '' : mediaType;
}

/** UTF-8 whatever the file says of pages, such as one about HTML; else as pages are read. */
function textOf(content: Uint8Array): { text: string } | FileError {
  return bounded(isUtf8(content) ? new TextDecoder().decode(content) : decodePage(content, ''));
}

function bounded(read: string): { text: string } | FileError {
  if (read.length > textCharsMax) return tooLong;
  // A NUL ends texts in some databases.
  const text = read.replace(/\r\n?/g, '\n').replaceAll('\0', '');
  if (text.trim() === '') return { code: 'invalid_file', message: 'The file has no text.' };
  return { text };
}

const tooLong: FileError = {
  code: 'invalid_file',
  message: `The text of the file has more than ${textCharsMax} characters. Split it into several files.`,
};

function unsupported(name: string): FileError {
  const message = `The file '${name.slice(0, 200)}' has no text that can be read. Files may be text, markdown, HTML, JSON, XML, CSV, code or PDF.`;
  return { code: 'unsupported_file', message };
}
