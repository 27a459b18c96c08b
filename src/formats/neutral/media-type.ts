const startBytes = 16;
/** Longest media type in a message, above those of office documents. */
export const mediaTypeShownMax = 128;

/**
 * Type of a picture or a document, recognized by its first bytes: the type that a server gives is often wrong. Null for
 * an unknown one.
 */
export function mediaTypeOf(bytes: Buffer): string | null {
  const start = bytes.subarray(0, startBytes).toString('latin1');
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(start)) return 'image/gif';
  if (/^RIFF.{4}WEBP/s.test(start)) return 'image/webp';
  if (start.startsWith('%PDF-')) return 'application/pdf';
  const brand = /^.{4}ftyp(.{4})/s.exec(start)?.[1];
  if (brand === undefined) return null;
  if (/^hei[cxms]$/.test(brand)) return 'image/heic';
  if (brand === 'mif1' || brand === 'msf1') return 'image/heif';
  return brand === 'avif' ? 'image/avif' : null;
}

/** Base64 of the first bytes. */
const startChars = 24;

/** The same of bytes in base64. */
export function shownTypeOf(base64: string): string | null {
  return mediaTypeOf(Buffer.from(base64.slice(0, startChars), 'base64'));
}

/** Media type of a picture: the one that its bytes show, or else the given one. Providers refuse a wrong one. */
export function pictureTypeOf(mediaType: string, base64: string): string {
  const shown = shownTypeOf(base64);
  if (shown?.startsWith('image/') === true) return shown;
  const given = mediaType.toLowerCase();
  return given === 'image/jpg' ? 'image/jpeg' : given;
}

const extensions = new Map([
  ['application/pdf', 'pdf'],
  ['application/json', 'json'],
  ['text/csv', 'csv'],
  ['text/html', 'html'],
  ['text/markdown', 'md'],
]);

/** The file's name, or one that gives its type: OpenAI refuses data of a file without a name. */
export function fileNameOf(mediaType: string, name: string | undefined): string {
  return name ?? `file.${extensions.get(mediaType) ?? 'txt'}`;
}
