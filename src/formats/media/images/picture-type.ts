/** Image formats that callers may send. */
export type PictureType = 'image/png' | 'image/jpeg' | 'image/webp';
/** Image formats that models make, all of which browsers show. */
export type DrawnType = PictureType | 'image/gif' | 'image/svg+xml';

/** The ending is that of a file's name. */
export const pictureEnding: Readonly<Record<DrawnType, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/svg+xml': 'svg',
};

/** Whole chunk that every PNG ends with; some writers put a few bytes behind it. */
const pngEnd = Buffer.from('0000000049454e44ae426082', 'hex');
const pngTailBytes = 64;

/** By its first `pictureStartBytes`, whether the rest is there or not. Null for anything else. */
export function pictureTypeOfStart(bytes: Buffer): PictureType | null {
  const start = bytes.subarray(0, pictureStartBytes).toString('latin1');
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  return /^RIFF.{4}WEBP/s.test(start) ? 'image/webp' : null;
}

export const pictureStartBytes = 16;

const gifTrailer = 0x3b;

/** Bytes at each end of an SVG within which its element begins and ends. */
const svgEdgeBytes = 4_096;
/** Markup that may come before the element: how it begins, and how it ends. */
const beforeSvg = [
  ['<?', '?>'],
  ['<!--', '-->'],
  ['<!', '>'],
] as const;

/** By its bytes, not by its name. Null for anything else, and for a cut one. */
export function drawnTypeOf(bytes: Buffer): DrawnType | null {
  const type = pictureTypeOfStart(bytes) ?? otherTypeOfStart(bytes);
  return type !== null && isWhole(bytes, type) ? type : null;
}

function otherTypeOfStart(bytes: Buffer): DrawnType | null {
  if (/^GIF8[79]a/.test(bytes.subarray(0, pictureStartBytes).toString('latin1'))) return 'image/gif';
  return beginsAsSvg(bytes.toString('utf8', 0, svgEdgeBytes)) ? 'image/svg+xml' : null;
}

function beginsAsSvg(start: string): boolean {
  let rest = start.replace(/^\uFEFF/, '').trimStart();
  for (;;) {
    const found = beforeSvg.find(([begin]) => rest.startsWith(begin));
    if (found === undefined) return /^<svg[\s>]/.test(rest);
    const end = rest.indexOf(found[1]);
    if (end === -1) return false;
    rest = rest.slice(end + found[1].length).trimStart();
  }
}

function isWhole(bytes: Buffer, type: DrawnType): boolean {
  switch (type) {
    case 'image/png':
      return bytes.subarray(-pngTailBytes).includes(pngEnd);
    case 'image/jpeg':
      // Its end mark may have anything behind it.
      return bytes.lastIndexOf('\xff\xd9', undefined, 'latin1') > 0;
    case 'image/webp':
      return bytes.readUInt32LE(4) + 8 <= bytes.length;
    case 'image/gif':
      // Its trailer may have zeros behind it.
      return bytes[bytes.findLastIndex((byte) => byte !== 0)] === gifTrailer;
    case 'image/svg+xml':
      return bytes.subarray(-svgEdgeBytes).toString('utf8').trimEnd().endsWith('</svg>');
  }
}
