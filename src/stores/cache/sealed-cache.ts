import { promisify } from 'node:util';
import { constants, zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib';
import type { CacheEntry, CacheStore, SharedCacheStore } from '../../books/metering/cache-store.ts';
import { BriefMap } from '../../kernel/brief.ts';
import type { Sealer } from '../../kernel/seal.ts';
import type { BodyPieces } from './gathered-writes.ts';
import { placeOf, sealContext } from './seal-context.ts';
import type { SealsItself } from './sqlite-cache.ts';

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

/** Bytes of bodies in memory. */
const recentBytesMax = 8 * 1024 * 1024;
/** Bytes of an entry without its body. */
const recentEntryBytes = 512;

/** Entries that were found lately, open, so that the next look costs no more than a map. */
export class RecentEntries {
  /** By place, the one that came last at the end. */
  readonly #entries = new Map<string, CacheEntry>();
  #bytes = 0;

  get(place: string): CacheEntry | undefined {
    return this.#entries.get(place);
  }

  add(place: string, entry: CacheEntry): void {
    this.#drop(place);
    this.#entries.set(place, entry);
    this.#bytes += recentEntryBytes + entry.body.length;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= recentBytesMax) return;
      this.#drop(oldest);
    }
  }

  /** Null: all of them. */
  forget(places: readonly { scope: string; digest: string }[] | null): void {
    for (const place of places?.map(({ scope, digest }) => placeOf(scope, digest)) ?? [...this.#entries.keys()]) {
      this.#drop(place);
    }
  }

  #drop(place: string): void {
    const entry = this.#entries.get(place);
    if (entry !== undefined) this.#bytes -= recentEntryBytes + entry.body.length;
    this.#entries.delete(place);
  }
}

/**
 * Seals and compresses the bodies of a driver's entries. A body opens only with the fields and in the place with which it
 * was written: anything else is none. An entry is found from when its `put` begins, and `clear` also removes those
 * that were on their way. `recent`: those it has in memory, where the driver says what is removed; null: none.
 */
export function createSealedCache(
  driver: SharedCacheStore & Partial<SealsItself>,
  sealer: Sealer,
  nowMs: () => number,
  recent: RecentEntries | null = null,
): SharedCacheStore {
  const held = new HeldWrites(driver, sealer);
  let closed = false;

  function open(scope: string, digest: string, found: CacheEntry | null): ReturnType<CacheStore['get']> {
    const opened = found === null ? null : sealer.open(found.body, sealContext(scope, digest, found));
    const body = opened === null ? null : unpacked(opened);
    if (found === null || body === null) return null;
    // What a thread unpacks is large, and another `put` may have come since.
    if (body instanceof Promise) return body.then((late) => ({ ...found, body: late }));
    const entry = { ...found, body };
    const place = placeOf(scope, digest);
    if (held.find(place) === undefined) recent?.add(place, entry);
    return entry;
  }

  return {
    swap: async (scope, digest, entry, over) => {
      const { head, rest } = await packed(entry.body);
      const body = sealer.seal(Buffer.concat([head, rest]), sealContext(scope, digest, entry));
      return driver.swap(scope, digest, { ...entry, body }, over);
    },
    get(scope, digest) {
      if (closed) return null;
      const place = placeOf(scope, digest);
      const known = held.find(place) ?? recent?.get(place);
      if (known !== undefined) return known.expiresAtMs > nowMs() ? known : null;
      const written = underwayIn(driver, scope, digest);
      if (written !== null) return written instanceof Promise || written.expiresAtMs > nowMs() ? written : null;
      const found = driver.get(scope, digest);
      return found instanceof Promise ? found.then((late) => open(scope, digest, late)) : open(scope, digest, found);
    },
    put(scope, digest, entry) {
      if (closed) return Promise.reject(new Error('the cache is closed'));
      recent?.forget([{ scope, digest }]);
      if (driver.putOpen === undefined || entry.body.length > atOnceMaxBytes) return held.put(scope, digest, entry);
      held.forget(placeOf(scope, digest));
      return driver.putOpen(scope, digest, entry, packedAtOnce(entry.body));
    },
    async clear(which) {
      await held.settled();
      return driver.clear(which);
    },
    stats: () => driver.stats(),
    async close() {
      closed = true;
      await held.settled();
      await driver.close();
    },
  };
}

/** Writes whose entries are found here until they are written. */
class HeldWrites {
  readonly #driver: CacheStore & Partial<SealsItself>;
  readonly #sealer: Sealer;
  readonly #entries = new BriefMap<CacheEntry>();
  readonly #writes = new Set<Promise<void>>();
  #bytes = 0;

  constructor(driver: CacheStore & Partial<SealsItself>, sealer: Sealer) {
    this.#driver = driver;
    this.#sealer = sealer;
  }

  find(place: string): CacheEntry | undefined {
    return this.#entries.get(place);
  }

  forget(place: string): void {
    this.#entries.take(place);
  }

  async put(scope: string, digest: string, entry: CacheEntry): Promise<void> {
    const bytes = entry.body.length;
    if (this.#bytes + bytes > underwayMaxBytes) throw new Error('too many answers wait for the cache');
    const place = placeOf(scope, digest);
    this.#entries.set(place, entry);
    this.#bytes += bytes;
    const written = this.#write(scope, digest, entry);
    this.#writes.add(written);
    try {
      await written;
    } finally {
      this.#writes.delete(written);
      this.#bytes -= bytes;
      if (this.#entries.get(place) === entry) this.#entries.take(place);
    }
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#writes);
  }

  async #write(scope: string, digest: string, entry: CacheEntry): Promise<void> {
    const { head, rest } = await packed(entry.body);
    // A thread packed it, and another one came to its place meanwhile: that stays, and is written sooner or is already.
    if (this.#entries.get(placeOf(scope, digest)) !== entry) return;
    if (this.#driver.putOpen !== undefined) return this.#driver.putOpen(scope, digest, entry, { head, rest });
    const body = this.#sealer.seal(Buffer.concat([head, rest]), sealContext(scope, digest, entry));
    return this.#driver.put(scope, digest, { ...entry, body });
  }
}

/** The entry that a driver is writing there; null: none. */
function underwayIn(
  driver: Partial<SealsItself>,
  scope: string,
  digest: string,
): CacheEntry | Promise<CacheEntry> | null {
  const found = driver.underway?.(scope, digest) ?? null;
  const body = found === null ? null : unpacked(found.body);
  if (found === null || body === null) return null;
  return body instanceof Promise ? body.then((late) => ({ ...found, body: late })) : { ...found, body };
}

const packing = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

function packed(body: Buffer): BodyPieces | Promise<BodyPieces> {
  if (body.length <= atOnceMaxBytes) return packedAtOnce(body);
  return compress(body, packing).then((small) => smaller(body, small));
}

function packedAtOnce(body: Buffer): BodyPieces {
  return body.length < packedFromBytes
    ? { head: plainHead, rest: body }
    : smaller(body, zstdCompressSync(body, packing));
}

const plainHead = Buffer.of(plainForm);

/** The body, or what the compressor made of it. Sound and pictures are compressed already. */
function smaller(body: Buffer, small: Buffer): BodyPieces {
  if (small.length >= body.length * 0.9) return { head: plainHead, rest: body };
  const head = Buffer.alloc(packedHeadBytes);
  head[0] = packedForm;
  head.writeUInt32LE(body.length, 1);
  return { head, rest: small };
}

/** Null: it has another form. */
function unpacked(opened: Buffer): Buffer | Promise<Buffer> | null {
  if (opened[0] === plainForm) return opened.subarray(1);
  if (opened[0] !== packedForm || opened.length < packedHeadBytes) return null;
  const bytes = opened.readUInt32LE(1);
  const small = opened.subarray(packedHeadBytes);
  const options = { maxOutputLength: Math.max(1, bytes) };
  return bytes > atOnceMaxBytes ? decompress(small, options) : zstdDecompressSync(small, options);
}
