/** How far into a page its own word on its charset is looked for (HTML's algorithm says 1,024; some need more). */
const prescanBytes = 4_096;
/** The same in a page that is not UTF-8. */
const lateBytes = 65_536;

/** Text of a page, by the charset of BOM, header or page; by default UTF-8. Broken bytes become U+FFFD. */
export function decodePage(body: Uint8Array, contentType: string): string {
  const label = bomOf(body) ?? labelIn(contentType) ?? declaredIn(body, prescanBytes) ?? guessedCharset(body);
  return new TextDecoder(label).decode(body);
}

function bomOf(body: Uint8Array): string | null {
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) return 'utf-8';
  if (body[0] === 0xff && body[1] === 0xfe) return 'utf-16le';
  if (body[0] === 0xfe && body[1] === 0xff) return 'utf-16be';
  return null;
}

function labelIn(contentType: string): string | null {
  const label = /charset\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(contentType)?.[1];
  return label !== undefined && isKnown(label) ? label : null;
}

/** `<meta charset>`, `<meta http-equiv>` or an XML declaration. Where one can be read is no UTF-16 (HTML 13.2.3.2). */
function declaredIn(body: Uint8Array, bytesMax: number): string | null {
  const head = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, bytesMax)).toString('latin1');
  const xml = /^<\?xml[^>]{0,200}encoding\s*=\s*["']([\w.:-]{1,40})/i.exec(head)?.[1];
  const label = xml ?? /<meta[^>]{0,300}charset\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(head)?.[1];
  if (label === undefined || !isKnown(label)) return null;
  return new TextDecoder(label).encoding.startsWith('utf-16') ? 'utf-8' : label;
}

/** Old pages that say nothing are of Windows' charset, unless they are UTF-8 through and through. */
export function guessedCharset(body: Uint8Array): string {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(body, { stream: true });
    return 'utf-8';
  } catch {
    return declaredIn(body, lateBytes) ?? 'windows-1252';
  }
}

function isKnown(label: string): boolean {
  try {
    new TextDecoder(label);
    return true;
  } catch {
    return false;
  }
}
