import { promisify } from 'node:util';
import { constants, zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib';
import type { CacheEntry, CacheStore } from '../../books/metering/cache-store.ts';
import type { Sealer } from '../../kernel/seal.ts';

/** Smaller bodies are kept as they are: the compressor's own memory would cost more than the look and the write. */
const packedFromBytes = 16 * 1024;
/** A larger body is packed and unpacked in a thread: the loop would notice it. A smaller one costs less than the way there. */
const atOnceMaxBytes = 128 * 1024;
/** Bodies that wait until they are written; further ones are refused. */
const underwayMaxBytes = 64 * 1024 * 1024;

/** First byte of a body before it is sealed, followed by its length where it is packed. */
const plainForm = 0;
const packedForm = 1;
const packedHeadBytes = 5;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/**
 * Seals and compresses the bodies of a driver's entries. A body opens only with the fields and in the place with which it
 * was written: anything else is none. An entry is found from when its `put` begins, and `clear` also removes those
 * that were on their way.
 */
export function createSealedCache(driver: CacheStore, sealer: Sealer, nowMs: () => number): CacheStore {
  const underway = new Map<string, CacheEntry>();
  const writes = new Set<Promise<void>>();
  let underwayBytes = 0;
  let closed = false;

  async function write(scope: string, digest: string, entry: CacheEntry): Promise<void> {
    const body = sealer.seal(await packed(entry.body), contextOf(scope, digest, entry));
    await driver.put(scope, digest, { ...entry, body });
  }

  return {
    async get(scope, digest) {
      if (closed) return null;
      const coming = underway.get(placeOf(scope, digest));
      if (coming !== undefined) return coming.expiresAtMs > nowMs() ? coming : null;
      const found = await driver.get(scope, digest);
      const opened = found === null ? null : sealer.open(found.body, contextOf(scope, digest, found));
      if (found === null || opened === null) return null;
      const body = await unpacked(opened);
      return body === null ? null : { ...found, body };
    },
    async put(scope, digest, entry) {
      if (closed) throw new Error('the cache is closed');
      const bytes = entry.body.length;
      if (underwayBytes + bytes > underwayMaxBytes) throw new Error('too many answers wait for the cache');
      const place = placeOf(scope, digest);
      underway.set(place, entry);
      underwayBytes += bytes;
      const written = write(scope, digest, entry);
      writes.add(written);
      try {
        await written;
      } finally {
        writes.delete(written);
        underwayBytes -= bytes;
        if (underway.get(place) === entry) underway.delete(place);
      }
    },
    async clear(which) {
      await Promise.allSettled(writes);
      return driver.clear(which);
    },
    stats: () => driver.stats(),
    async close() {
      closed = true;
      await Promise.allSettled(writes);
      await driver.close();
    },
  };
}

const placeOf = (scope: string, digest: string) => `${digest} ${scope}`;

function contextOf(scope: string, digest: string, { atMs, expiresAtMs, keyId, model, tag }: CacheEntry): string {
  return JSON.stringify([scope, digest, atMs, expiresAtMs, keyId, model, tag]);
}

async function packed(body: Buffer): Promise<Buffer> {
  if (body.length >= packedFromBytes) {
    const head = Buffer.alloc(packedHeadBytes);
    head[0] = packedForm;
    head.writeUInt32LE(body.length, 1);
    const options = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
    const small = body.length > atOnceMaxBytes ? await compress(body, options) : zstdCompressSync(body, options);
    // Sound and pictures are compressed already.
    if (small.length < body.length * 0.9) return Buffer.concat([head, small]);
  }
  return Buffer.concat([Buffer.of(plainForm), body]);
}

/** Null: it has another form. */
async function unpacked(opened: Buffer): Promise<Buffer | null> {
  if (opened[0] === plainForm) return opened.subarray(1);
  if (opened[0] !== packedForm || opened.length < packedHeadBytes) return null;
  const bytes = opened.readUInt32LE(1);
  const small = opened.subarray(packedHeadBytes);
  const options = { maxOutputLength: Math.max(1, bytes) };
  return bytes > atOnceMaxBytes ? decompress(small, options) : zstdDecompressSync(small, options);
}
