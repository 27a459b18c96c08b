import type { Readable } from 'node:stream';
import zlib from 'node:zlib';

/** What an answer may be packed in; asked for by `accept-encoding`. */
export const acceptedEncodings = 'gzip, deflate, br';

/** A stream of the unpacked bytes, or null for a packing that nobody asked for. Errors of `body` reach the result. */
export function unpacked(body: Readable, encoding: string | undefined): Readable | null {
  const packing = encoding?.trim().toLowerCase() ?? '';
  if (packing === '' || packing === 'identity') return body;
  const unpacker = unpackerOf(packing);
  if (unpacker === null) return null;
  body.on('error', (error) => unpacker.destroy(error));
  return body.pipe(unpacker);
}

function unpackerOf(packing: string) {
  switch (packing) {
    case 'gzip':
    case 'x-gzip':
      return zlib.createGunzip();
    case 'deflate':
      return zlib.createInflate();
    case 'br':
      return zlib.createBrotliDecompress();
    default:
      return null;
  }
}
