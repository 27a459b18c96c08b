import type { PageKind } from './extract-order.ts';

/**
 * Type of a page, by its header and, if that is of no use, by its first bytes. Null: a format without text (a picture,
 * an archive).
 */
export function pageKindOf(contentType: string, body: Uint8Array): PageKind | null {
  const head = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, sniffedBytes));
  if (head.subarray(0, 1024).includes('%PDF-')) return 'pdf';
  const declared = contentType.replace(/;.*/s, '').trim().toLowerCase();
  if (declared === 'text/html' || declared === 'application/xhtml+xml') return 'html';
  if (declared === 'application/json' || declared.endsWith('+json')) return 'json';
  if (declared.endsWith('/xml') || declared.endsWith('+xml')) return 'xml';
  if (declared.startsWith('text/') && declared !== 'text/plain') return 'text';
  if (/^(?:image|audio|video|font)\//.test(declared)) return null;
  const isUtf16 = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  if (!isUtf16 && head.includes(0)) return null;
  if (declared === 'text/plain') return 'text';
  const text = head
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart();
  if (/^<(?:!doctype\s+html|html|head|body|!--)/i.test(text)) return 'html';
  if (text.startsWith('<?xml')) return 'xml';
  if (/^[{[]/.test(text)) return 'json';
  return declared === '' || declared.startsWith('application/octet') ? 'text' : null;
}

const sniffedBytes = 4_096;
