import type { Lease } from '../../kernel/leased-jobs.ts';
import type { Turns } from '../../kernel/sharing/turns.ts';
import type { Batch } from './batch-facts.ts';
import type { LineCalls } from './line-calls.ts';
import type { StoredFiles, StoredFilesParts } from './stored-files.ts';
import type { UpstreamClient } from './upstream/upstream-client.ts';

export interface BatchParts extends Pick<StoredFilesParts, 'store' | 'sealer' | 'clock' | 'retentionMs' | 'onStored'> {
  files: StoredFiles;
  calls: LineCalls;
  /** Places for lines of all batches of this process, a tenant's share of them each. */
  turns: Turns;
  /** One place for each account: while one of its batches holds what its lines at a provider will use. */
  holding: Turns;
  /** Which of these requests the ledger charges, or will. */
  charged(account: string, requestIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Resolves once the ledger has what this process has charged, or gives up writing it. */
  booked(): Promise<void>;
  publicUrl(): string | undefined;
  /** Callers of this process who wait for an answer now. */
  waiting(): number;
  /** The batch APIs of providers. */
  upstream: UpstreamAccess;
}

export interface UpstreamAccess {
  /** Whether lines may go to one at all, as things are. */
  isUsed(): boolean;
  /** Null: the provider or its credential is no longer configured. */
  clientOf(provider: string, credential: string): UpstreamClient | null;
  /** Batches at providers that this process has begun or found, by `atProvider`. */
  taken: Set<string>;
  onTrouble(message: string): void;
}

/** Names a batch at a provider among all. */
export function atProvider(provider: string, id: string): string {
  return `${provider} ${id}`;
}

export interface BatchRun extends BatchParts {
  batch: Batch;
  lease: Lease;
  /** Lost to another process, or we stop. */
  signal: AbortSignal;
  /** Whether another batch has a place in this process. */
  hasRoom(): boolean;
}

/** Context that a line's result is sealed with. */
export function resultContext({ tenant, id }: Pick<Batch, 'tenant' | 'id'>, seq: number): string {
  return JSON.stringify([tenant, id, seq]);
}
