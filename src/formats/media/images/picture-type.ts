/** Image formats that clients can show; the ending is that of a file's name. */
export type PictureType = 'image/png' | 'image/jpeg' | 'image/webp';

export const pictureEnding: Readonly<Record<PictureType, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
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

/** By its bytes, not by its name. Null for anything else, and for a cut one. */
export function pictureTypeOf(bytes: Buffer): PictureType | null {
  const type = pictureTypeOfStart(bytes);
  return type !== null && isWhole(bytes, type) ? type : null;
}

function isWhole(bytes: Buffer, type: PictureType): boolean {
  switch (type) {
    case 'image/png':
      return bytes.subarray(-pngTailBytes).includes(pngEnd);
    case 'image/jpeg':
      // Its end mark may have anything behind it.
      return bytes.lastIndexOf('\xff\xd9', undefined, 'latin1') > 0;
    case 'image/webp':
      return bytes.readUInt32LE(4) + 8 <= bytes.length;
  }
}
