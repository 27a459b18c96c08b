import type { CacheEntry } from '../../books/metering/cache-store.ts';
import { BriefMap } from '../../kernel/brief-map.ts';
import type { EntryPlace } from './cache-file.ts';

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

/**
 * Gathers entries for `write`, which runs once at a time. Bodies are copied into memory that both threads share, and that
 * is used again: so no buffer waits with an entry.
 */
export function createGatheredWrites(
  write: (entries: readonly GatheredEntry[], shared: SharedArrayBuffer) => Promise<void>,
) {
  const memory = [sharedMemory(), sharedMemory()] as const;
  let filling: 0 | 1 = 0;
  let waiting: GatheredEntry[] = [];
  let used = 0;
  let gathered = 0;
  const underway = new BriefMap<GatheredEntry & { memory: 0 | 1 }>();
  /** The write that takes what waits, and what makes it begin now; null: none is to come. */
  let coming: { done: Promise<void>; hurry(): void } | null = null;
  let running: Promise<void> = Promise.resolve();

  function begin(): { done: Promise<void>; hurry(): void } {
    const { promise: isTime, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, gatherMs);
    const hurry = () => {
      clearTimeout(timer);
      resolve();
    };
    return { done: writeAfter(isTime), hurry };
  }

  async function writeAfter(isTime: Promise<void>): Promise<void> {
    await isTime;
    // Its memory is free from then on.
    await running.catch(() => undefined);
    const entries = waiting;
    const shared = memory[filling]().buffer;
    waiting = [];
    used = 0;
    gathered = 0;
    filling = filling === 0 ? 1 : 0;
    coming = null;
    running = write(entries, shared).finally(() => {
      for (const { scope, digest, body } of entries) {
        const place = placeOf(scope, digest);
        if (underway.get(place)?.body === body) underway.take(place);
      }
    });
    await running;
  }

  function copied({ head, rest }: BodyPieces): GatheredEntry['body'] {
    const length = head.length + rest.length;
    gathered += length;
    if (used + length > sharedBytes) {
      const body = new Uint8Array(length);
      body.set(head);
      body.set(rest, head.length);
      return body;
    }
    const start = used;
    const target = memory[filling]();
    target.set(head, start);
    target.set(rest, start + head.length);
    used += length;
    return { start, end: used };
  }

  return {
    /** Resolves once the entry is written. */
    add(
      { scope, digest }: EntryPlace,
      entry: CacheEntry,
      form: GatheredEntry['form'],
      pieces: BodyPieces,
    ): Promise<void> {
      if (gathered > waitingBytesMax) return Promise.reject(new Error('too many answers wait for the cache'));
      const { atMs, expiresAtMs, keyId, model, tag } = entry;
      const row = { atMs, expiresAtMs, keyId, model, tag };
      const one = { scope, digest, entry: row, body: copied(pieces), form, memory: filling };
      waiting.push(one);
      if (form === 'open') underway.set(placeOf(scope, digest), one);
      coming ??= begin();
      if (gathered > gatheredBytesMax) coming.hurry();
      return coming.done;
    },
    /** The open entry that is on its way there, with a copy of its body; null: none is. */
    find(scope: string, digest: string): CacheEntry | null {
      const one = underway.get(placeOf(scope, digest));
      if (one === undefined) return null;
      const { entry, body, memory: at } = one;
      const bytes = body instanceof Uint8Array ? body : memory[at]().subarray(body.start, body.end);
      return { ...entry, body: Buffer.from(bytes) };
    },
    /** Resolves once what came before is written, or cannot be. */
    async settled(): Promise<void> {
      coming?.hurry();
      await Promise.allSettled([coming?.done, running]);
    },
  };
}

const placeOf = (scope: string, digest: string) => `${scope} ${digest}`;

/** Made at the first use; the system gives it pages as they are written. */
function sharedMemory(): () => Uint8Array<SharedArrayBuffer> {
  let bytes: Uint8Array<SharedArrayBuffer> | null = null;
  return () => (bytes ??= new Uint8Array(new SharedArrayBuffer(sharedBytes)));
}
