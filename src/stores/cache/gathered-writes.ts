import type { CacheEntry } from '../../books/metering/cache-store.ts';
import { BriefMap } from '../../kernel/brief.ts';
import type { EntryPlace } from './cache-file.ts';
import { placeOf } from './seal-context.ts';

/**
 * Rows of this long are one transaction, in ms: a commit costs more than its rows. What waits longer would outlive two
 * collections of V8's young generation, and then only a full one frees it.
 */
const gatherMs = 20;
/** Bytes of the bodies of one transaction that the thread finds in shared memory. */
const sharedBytes = 1024 * 1024;
/** So many bytes do not wait for more. */
const gatheredBytesMax = sharedBytes / 2;
/** Bodies that wait until they are written; further ones are refused. */
const waitingBytesMax = 64 * 1024 * 1024;

/** An entry on its way to the thread that writes. */
export interface GatheredEntry extends EntryPlace {
  entry: Omit<CacheEntry, 'body'>;
  /** Where its body is in the shared memory of its transaction, in bytes; an array: it did not fit there. */
  body: Uint8Array | { start: number; end: number };
  /** `open`: the thread seals it first. */
  form: 'open' | 'sealed';
}

/** A body that is to be written: `head` and `rest` one after the other. */
export interface BodyPieces {
  head: Uint8Array;
  rest: Uint8Array;
}

type Write = (entries: readonly GatheredEntry[], shared: SharedArrayBuffer) => Promise<void>;

/** Gathers entries for `write`, which runs once at a time. Bodies are copied into memory that both threads share. */
export class GatheredWrites {
  readonly #write: Write;
  readonly #memory = [sharedMemory(), sharedMemory()] as const;
  #filling: 0 | 1 = 0;
  #waiting: GatheredEntry[] = [];
  /** Bytes that are taken of the memory that is filled. */
  #used = 0;
  /** Bytes that wait. */
  #gathered = 0;
  readonly #underway = new BriefMap<GatheredEntry & { memory: 0 | 1 }>();
  /** The write that takes what waits, and what makes it begin now; null: none is to come. */
  #coming: { done: Promise<void>; hurry(): void } | null = null;
  #running: Promise<void> = Promise.resolve();

  constructor(write: Write) {
    this.#write = write;
  }

  /** Resolves once the entry is written. */
  add(
    { scope, digest }: EntryPlace,
    entry: CacheEntry,
    form: GatheredEntry['form'],
    pieces: BodyPieces,
  ): Promise<void> {
    if (this.#gathered > waitingBytesMax) return Promise.reject(new Error('too many answers wait for the cache'));
    const { atMs, expiresAtMs, keyId, model, tag } = entry;
    const row = { atMs, expiresAtMs, keyId, model, tag };
    const one = { scope, digest, entry: row, body: this.#copied(pieces), form, memory: this.#filling };
    this.#waiting.push(one);
    if (form === 'open') this.#underway.set(placeOf(scope, digest), one);
    this.#coming ??= this.#begin();
    if (this.#gathered > gatheredBytesMax) this.#coming.hurry();
    return this.#coming.done;
  }

  /** The open entry that is on its way there, with a copy of its body; null: none is. */
  find(scope: string, digest: string): CacheEntry | null {
    const one = this.#underway.get(placeOf(scope, digest));
    if (one === undefined) return null;
    const { entry, body, memory } = one;
    const bytes = body instanceof Uint8Array ? body : this.#memory[memory]().subarray(body.start, body.end);
    return { ...entry, body: Buffer.from(bytes) };
  }

  /** Resolves once what came before is written, or cannot be. */
  async settled(): Promise<void> {
    this.#coming?.hurry();
    await Promise.allSettled([this.#coming?.done, this.#running]);
  }

  #begin(): { done: Promise<void>; hurry(): void } {
    const { promise: isTime, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, gatherMs);
    const hurry = () => {
      clearTimeout(timer);
      resolve();
    };
    return { done: this.#writeAfter(isTime), hurry };
  }

  async #writeAfter(isTime: Promise<void>): Promise<void> {
    await isTime;
    // Its memory is free from then on.
    await this.#running.catch(() => undefined);
    const entries = this.#waiting;
    const shared = this.#memory[this.#filling]().buffer;
    this.#waiting = [];
    this.#used = 0;
    this.#gathered = 0;
    this.#filling = this.#filling === 0 ? 1 : 0;
    this.#coming = null;
    this.#running = this.#write(entries, shared).finally(() => {
      for (const { scope, digest, body } of entries) {
        const place = placeOf(scope, digest);
        if (this.#underway.get(place)?.body === body) this.#underway.take(place);
      }
    });
    await this.#running;
  }

  #copied({ head, rest }: BodyPieces): GatheredEntry['body'] {
    const length = head.length + rest.length;
    this.#gathered += length;
    const start = this.#used;
    const fits = start + length <= sharedBytes;
    const target = fits ? this.#memory[this.#filling]().subarray(start) : new Uint8Array(length);
    target.set(head);
    target.set(rest, head.length);
    if (!fits) return target;
    this.#used += length;
    return { start, end: this.#used };
  }
}

/** Made at the first use; the system gives it pages as they are written. */
function sharedMemory(): () => Uint8Array<SharedArrayBuffer> {
  let bytes: Uint8Array<SharedArrayBuffer> | null = null;
  return () => (bytes ??= new Uint8Array(new SharedArrayBuffer(sharedBytes)));
}
