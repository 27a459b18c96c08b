/** What pictures come in that clients can show; the ending is that of a file's name. */
export type PictureType = 'image/png' | 'image/jpeg' | 'image/webp';

export const pictureEnding: Readonly<Record<PictureType, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
};

/** Whole chunk that every PNG ends with; some writers put a few bytes behind it. */
const pngEnd = Buffer.from('0000000049454e44ae426082', 'hex');
const pngTailBytes = 64;

/** By its bytes, not by what anybody calls it. Null for anything else, and for one that was cut. */
export function pictureTypeOf(bytes: Buffer): PictureType | null {
  const start = bytes.subarray(0, 16).toString('latin1');
  if (start.startsWith('\x89PNG\r\n\x1a\n')) {
    return bytes.subarray(-pngTailBytes).includes(pngEnd) ? 'image/png' : null;
  }
  // Its end mark may have anything behind it.
  if (start.startsWith('\xff\xd8\xff'))
    return bytes.lastIndexOf('\xff\xd9', undefined, 'latin1') > 0 ? 'image/jpeg' : null;
  if (!/^RIFF.{4}WEBP/s.test(start)) return null;
  return bytes.readUInt32LE(4) + 8 <= bytes.length ? 'image/webp' : null;
}
