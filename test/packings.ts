import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';

/** Content encodings of JSON bodies that the gateway reads. */
export const packings: Readonly<Record<string, (body: string | Buffer) => Buffer>> = {
  gzip: (body) => gzipSync(body),
  deflate: (body) => deflateSync(body),
  br: (body) => brotliCompressSync(body),
  zstd: (body) => zstdCompressSync(body),
};
