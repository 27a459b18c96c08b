import zlib from 'node:zlib';

export type Decompressor = ReturnType<typeof createDecompressor>;

/** After `ended` or `failed` nothing more is called. */
export interface DecompressorSink {
  data(chunk: Buffer): void;
  drained(): void;
  ended(): void;
  /** The input is broken, cut short, or larger than allowed. */
  failed(reason: string): void;
}

const unpackers = {
  gzip: zlib.createGunzip,
  deflate: zlib.createInflate,
  br: zlib.createBrotliDecompress,
  zstd: zlib.createZstdDecompress,
} as const;

export type Encoding = keyof typeof unpackers;

/** The encoding that a Content-Encoding header (RFC 9110 §8.4) names: null for none, undefined for an unknown one. */
export function encodingOf(header: string): Encoding | null | undefined {
  const name = header.trim().toLowerCase();
  // Some servers write the encoding of their characters, which fetch and curl ignore.
  if (['', 'identity', 'none', 'utf-8', 'utf8'].includes(name)) return null;
  if (name === 'x-gzip') return 'gzip';
  return Object.hasOwn(unpackers, name) ? (name as Encoding) : undefined;
}

export function unpackerOf(encoding: Encoding) {
  return unpackers[encoding]();
}

/** Gives out at most `bytesMax` in all: a kilobyte can unfold to a megabyte. `first`: the first byte to come. */
export function createDecompressor(encoding: Encoding, bytesMax: number, sink: DecompressorSink, first = 8) {
  // Some servers leave out the frame of RFC 1950, whose first byte ends with an 8.
  const isRaw = encoding === 'deflate' && (first & 0x0f) !== 8;
  const stream = isRaw ? zlib.createInflateRaw() : unpackerOf(encoding);
  let outBytes = 0;
  let over = false;

  function fail(reason: string): void {
    if (over) return;
    over = true;
    stream.destroy();
    sink.failed(reason);
  }

  stream.on('data', (chunk: Buffer) => {
    if (over) return;
    outBytes += chunk.length;
    if (outBytes > bytesMax) fail(`the ${encoding} answer is larger than ${bytesMax} bytes`);
    else sink.data(chunk);
  });
  stream.on('drain', () => {
    if (!over) sink.drained();
  });
  stream.on('end', () => {
    if (over) return;
    over = true;
    sink.ended();
  });
  stream.on('error', () => fail(`the ${encoding} answer cannot be decompressed`));

  return {
    /** 'full' asks to hold further input back until `drained`. */
    write: (chunk: Buffer): 'ready' | 'full' => (over || stream.write(chunk) ? 'ready' : 'full'),
    end(): void {
      if (!over) stream.end();
    },
    pause(): void {
      stream.pause();
    },
    resume(): void {
      stream.resume();
    },
    /** Nothing is reported any more. Idempotent. */
    destroy(): void {
      over = true;
      stream.destroy();
    },
  };
}
