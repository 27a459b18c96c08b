import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';

/** Its usual quality, the best, takes 50 times as long. */
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

/** Content encodings of JSON bodies that the gateway reads. */
export const packings: Readonly<Record<string, (body: string | Buffer) => Buffer>> = {
  gzip: (body) => gzipSync(body),
  deflate: (body) => deflateSync(body),
  br: (body) => brotliCompressSync(body, brotli),
  zstd: (body) => zstdCompressSync(body),
};
