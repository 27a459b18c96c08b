import type { CallerNote } from '../../books/auth/caller-note.ts';
import type { StoreCounts, StoreFileRow, StoreRow } from '../../books/metering/vector-store-rows.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { Sealer } from '../../kernel/seal.ts';
import { Unopenable } from '../../kernel/unopenable.ts';

/** Sealed facts of a vector store that its row does not show. */
export interface StoreFacts {
  name: string;
  description: string | null;
  metadata: JsonObject | null;
  /** Days after its last use; null: it never expires. */
  expiresAfterDays: number | null;
}

export interface VectorStore extends Omit<StoreRow, 'facts'>, StoreFacts {
  counts: StoreCounts;
  status: 'in_progress' | 'completed' | 'expired';
}

/** Texts, numbers and booleans that a caller gives a file, for filters. */
export type FileAttributes = Readonly<Record<string, string | number | boolean>>;

/** How a file's text is cut: in tokens. */
export interface Chunking {
  sizeTokens: number;
  overlapTokens: number;
}

export interface FileError {
  code: 'server_error' | 'unsupported_file' | 'invalid_file';
  message: string;
}

/** Sealed facts of a file in a store. */
export interface FileFacts {
  /** Its name at `/v1/files`. */
  name: string;
  attributes: FileAttributes | null;
  chunking: Chunking;
  error: FileError | null;
  /** Caller that added it; absent: its key is in a store. */
  caller?: CallerNote;
}

export interface StoreFile extends Omit<StoreFileRow, 'facts'>, FileFacts {
  /** Its facts as the row has them. A change that another came before is made again. */
  seen: Uint8Array;
}

export function sealFacts(sealer: Sealer, { id, tenant }: Owned, facts: StoreFacts | FileFacts): Buffer {
  return sealer.seal(Buffer.from(JSON.stringify(facts)), factsContext({ id, tenant }));
}

/** Throws for a row that another secret sealed. */
export function openStore(sealer: Sealer, row: StoreRow, counts: StoreCounts, nowMs: number): VectorStore {
  const { facts, ...rest } = row;
  const isExpired = rest.expiresMs !== null && rest.expiresMs <= nowMs;
  const status = isExpired ? 'expired' : counts.in_progress > 0 ? 'in_progress' : 'completed';
  return { ...rest, ...opened<StoreFacts>(sealer, row, facts), counts, status };
}

/** Throws for a row that another secret sealed. */
export function openFile(sealer: Sealer, row: StoreFileRow): StoreFile {
  const { facts, ...rest } = row;
  return { ...rest, ...opened<FileFacts>(sealer, row, facts), seen: facts };
}

export function fileFactsOf({ name, attributes, chunking, error, caller }: FileFacts): FileFacts {
  return { name, attributes, chunking, error, ...(caller !== undefined && { caller }) };
}

interface Owned {
  id: string;
  tenant: string;
}

function opened<T>(sealer: Sealer, of: Owned, facts: Uint8Array): T {
  const plain = sealer.open(facts, factsContext(of));
  if (plain === null) throw new Unopenable(`'${of.id}'`);
  return JSON.parse(plain.toString('utf8')) as T;
}

/** Context that the facts of a vector store, or of a file in one, are sealed with. */
export function factsContext({ tenant, id }: Owned): string {
  return JSON.stringify([tenant, id]);
}
