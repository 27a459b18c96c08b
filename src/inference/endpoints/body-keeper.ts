import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import type { BodyRules } from '../../books/auth/body-rules.ts';
import type { BodyFilter, BodyQuery, BodyRow, BodyStore } from '../../books/metering/body-store.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { Sealer } from '../../kernel/seal.ts';
import type { BodyTexts } from './shown-bodies.ts';

/** Largest part of a request, and of an answer, that is kept: the loop looks through it for credentials. */
export const storedBytesMax = 2 * 1024 * 1024;
/** Bodies that wait until they are written; further ones are left out. */
const underwayMaxBytes = 64 * 1024 * 1024;
/** A sealed text unpacks to no more than this: request, answer and a media answer in base64. */
const unpackedMaxBytes = 6 * storedBytesMax;
/** Largest request and answer that get a signature: the loop reads their words. A search opens larger ones. */
const signedMaxBytes = 512 * 1024;
/** Bytes written between two looks at `bytesMax`. */
const sweptEveryBytes = 16 * 1024 * 1024;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

export interface BodiesToKeep extends Omit<BodyRow, 'sealed' | 'atMs'>, BodyTexts {}

/** A row, opened. */
export interface FoundBodies extends Omit<BodyRow, 'sealed'>, BodyTexts {}

/** Keeps bodies of requests where operators want it. */
export interface BodyKeeper {
  rules: BodyRules;
  /** Returns at once: nobody waits for the write. */
  keep(bodies: BodiesToKeep): void;
  find(requestId: string): Promise<FoundBodies | null>;
  /** The newest first. */
  list(query: BodyQuery): Promise<BodyRow[]>;
  /** The signatures of the same rows, opened; null: a search must open the row. */
  signatures(query: BodyQuery): Promise<{ requestId: string; signature: Uint8Array | null }[]>;
  /** Null: another secret sealed it, or it was changed. */
  open(row: BodyRow): Promise<FoundBodies | null>;
  remove(which: BodyFilter): Promise<number>;
  /** Removes what is older than its retention, and the oldest beyond the limit. */
  sweep(nowMs: number): Promise<unknown>;
  /** Resolves when all is written. */
  close(): Promise<void>;
}

interface KeeperParts {
  rules: BodyRules;
  stores: {
    bodies(): Promise<BodyStore>;
    /** Whether there may be some already. */
    mayHaveBodies(): boolean;
  };
  sealer: Sealer;
  /** The present `storage.bodies`. */
  limits(): { retention: number; max_bytes: number };
  /** Room on the disk; `refusal` says why there is none. */
  room: { refusal(): Failure | null; taken(bytes: number): void };
  clock: Clock;
  /** Other processes of this server, which write into the same store; absent: there are none. */
  others: { shareBodyWrites(written: () => Promise<void>): () => Promise<void> } | undefined;
  onTrouble(message: string): void;
}

export function createBodyKeeper(parts: KeeperParts): BodyKeeper {
  const { rules, sealer, stores, room, clock } = parts;
  const writes = new Set<Promise<void>>();
  let underwayBytes = 0;
  let sinceSweep = 0;
  let isUsed = false;
  const writtenHere = async () => void (await Promise.allSettled(writes));
  const writtenElsewhere = parts.others?.shareBodyWrites(writtenHere);

  async function write(bodies: BodiesToKeep): Promise<void> {
    const row = await sealedRow(sealer, bodies, clock.wallMs());
    const signature = await sealedSignature(sealer, bodies);
    isUsed = true;
    const store = await stores.bodies();
    await store.put(row, signature);
    const bytes = row.sealed.length + (signature?.length ?? 0);
    room.taken(bytes);
    sinceSweep += bytes;
    if (sinceSweep < sweptEveryBytes) return;
    sinceSweep = 0;
    await sweep(clock.wallMs());
  }

  async function sweep(nowMs: number): Promise<unknown> {
    if (!isUsed && !stores.mayHaveBodies()) return 0;
    const { retention, max_bytes } = parts.limits();
    return (await stores.bodies()).sweep(nowMs - retention, max_bytes);
  }

  /** Once what was under way is there; null: nothing was ever kept. */
  async function written(): Promise<BodyStore | null> {
    await Promise.all([writtenHere(), writtenElsewhere?.()]);
    return isUsed || stores.mayHaveBodies() ? stores.bodies() : null;
  }

  return {
    rules,
    keep(bodies) {
      const bytes = bodies.request.length + bodies.answer.length + (bodies.media?.base64.length ?? 0);
      if (room.refusal() !== null) return;
      if (underwayBytes + bytes > underwayMaxBytes) {
        return parts.onTrouble(`the bodies of ${bodies.requestId} were not kept: too many wait for the store`);
      }
      underwayBytes += bytes;
      const written = write(bodies)
        .catch((error: unknown) => parts.onTrouble(`the bodies of ${bodies.requestId} were not kept: ${error}`))
        .finally(() => {
          underwayBytes -= bytes;
          writes.delete(written);
        });
      writes.add(written);
    },
    async find(requestId) {
      const row = (await (await written())?.find(requestId)) ?? null;
      return row === null ? null : openedRow(sealer, row);
    },
    list: async (query) => (await (await written())?.list(query)) ?? [],
    async signatures(query) {
      const found = (await (await written())?.signatures(query)) ?? [];
      return found.map(({ requestId, sealed }) => ({
        requestId,
        signature: sealed && sealer.open(sealed, signatureContext(requestId)),
      }));
    },
    open: (row) => openedRow(sealer, row),
    remove: async (which) => (await (await written())?.remove(which)) ?? 0,
    sweep,
    close: writtenHere,
  };
}

async function sealedRow(sealer: Sealer, bodies: BodiesToKeep, atMs: number): Promise<BodyRow> {
  const { request, answer, error, media, ...facts } = bodies;
  const text = Buffer.from(JSON.stringify({ request, answer, error, media } satisfies BodyTexts));
  const small = await compress(text, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
  const row = { ...facts, atMs };
  return { ...row, sealed: sealer.seal(small, bodyContext(row)) };
}

async function sealedSignature(sealer: Sealer, bodies: BodiesToKeep): Promise<Uint8Array | null> {
  if (bodies.request.length + bodies.answer.length > signedMaxBytes) return null;
  const { searchableTexts } = await import('./shown-bodies.ts');
  const { signatureOf } = await import('./text-signature.ts');
  const texts = searchableTexts(bodies.path, bodies).map((text) => text.toLowerCase());
  return sealer.seal(signatureOf(texts), signatureContext(bodies.requestId));
}

/** With the version of what is signed, and how: another one does not open it. */
function signatureContext(requestId: string): string {
  return `signature 1 ${requestId}`;
}

async function openedRow(sealer: Sealer, { sealed, ...row }: BodyRow): Promise<FoundBodies | null> {
  const small = sealer.open(sealed, bodyContext(row));
  if (small === null) return null;
  const text = await decompress(small, { maxOutputLength: unpackedMaxBytes });
  return { ...row, ...(JSON.parse(text.toString('utf8')) as BodyTexts) };
}

/** A row opens with the facts that it was written with, and with no others. */
export function bodyContext({ requestId, atMs, account, keyId, model, path, status }: Omit<BodyRow, 'sealed'>): string {
  return JSON.stringify([requestId, atMs, account, keyId, model, path, status]);
}
