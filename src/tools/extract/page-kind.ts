import { guessedCharset } from './decode-page.ts';
import type { PageKind } from './extract-order.ts';

/** Type of a page, by its header or, if that is of no use, by its first bytes. Null: a format without text. */
export function pageKindOf(contentType: string, body: Uint8Array): PageKind | null {
  const head = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, sniffedBytes));
  const text = head
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart();
  const declared = contentType.replace(/;.*/s, '').trim().toLowerCase();
  // A PDF may have other bytes before its mark, and a page may tell of the mark.
  if (text.startsWith('%PDF-') || (declared.endsWith('/pdf') && text.slice(0, 1024).includes('%PDF-'))) return 'pdf';
  if (feed.test(text)) return 'xml';
  if (declared === 'text/html' || declared === 'application/xhtml+xml') return 'html';
  if (declared === 'application/json' || declared.endsWith('+json')) return 'json';
  if (/^(?:image|font)\/|\/rtf$/.test(declared)) return null;
  if (declared.endsWith('/xml') || declared.endsWith('+xml')) return xhtml.test(text) ? 'html' : 'xml';
  if (declared.startsWith('text/') && declared !== 'text/plain') return 'text';
  const isUtf16 = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  if (!isUtf16 && head.includes(0)) return null;
  if (declared === 'text/plain') return 'text';
  if (/^<(?:!doctype\s+html|html|head|body|!--)/i.test(text)) return 'html';
  if (declared === '' && firstTag.test(text)) return 'html';
  if (text.startsWith('<?xml')) return xhtml.test(text) ? 'html' : 'xml';
  if (/^[{[]/.test(text)) return 'json';
  // Code and data have many types: `application/yaml`, and `video/mp2t` for TypeScript.
  return declared === '' || declared.startsWith('application/octet') || guessedCharset(head) === 'utf-8'
    ? 'text'
    : null;
}

const sniffedBytes = 4_096;
/** Elements by which browsers know a page without a type, and `meta`. Sources of Vue begin with `script` or `style`. */
const firstTag = /^<(?:iframe|h1|div|font|table|a|title|b|br|p|meta)[\s>]/i;
/** The first element, behind a declaration, a style sheet and a document type. */
const xhtml = /^(?:<[?!][^>]{0,300}>\s*){0,3}<html[\s>]/i;
const feed = /^(?:<[?!][^>]{0,300}>\s*){0,3}<(?:rss|feed|rdf:RDF)[\s>]/;
