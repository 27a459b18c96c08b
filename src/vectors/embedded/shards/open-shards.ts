import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { FailureError } from '../../../kernel/failure.ts';
import { overloaded, storageTrouble } from '../storage-trouble.ts';
import { openShard, type Shard, type ShardOptions } from './shard.ts';
import { openShardFile, type WalBounds } from './shard-file.ts';
import { shardOf } from './shard-of.ts';

export interface OpenShardsOptions extends Omit<ShardOptions, 'file'> {
  folder: string;
  /** Numbers of this store's shards. */
  numbers: readonly number[];
  wal?: WalBounds;
}

/** The shards of a store, each opened at the first call of one of its tenants. */
export class OpenShards {
  readonly #options: OpenShardsOptions;
  readonly #shards = new Map<number, Shard>();
  /** Shards that could not be opened, with the reason that callers get. */
  readonly #refused = new Map<number, FailureError>();
  /** Shards whose trouble is in the log. */
  readonly #logged = new Set<number>();
  #closed = false;

  constructor(options: OpenShardsOptions) {
    this.#options = options;
  }

  /** Throws a FailureError (503) where it cannot be opened. */
  of(tenant: string): Shard {
    return this.#shard(shardOf(tenant));
  }

  /** Shards that calls have needed so far. */
  opened(): Iterable<Shard> {
    return this.#shards.values();
  }

  /** Shards that have a file, opened; one that cannot be is passed over. */
  existing(): Shard[] {
    return this.#options.numbers.flatMap((number) => {
      if (!existsSync(this.#path(number))) return [];
      try {
        return [this.#shard(number)];
      } catch {
        return [];
      }
    });
  }

  /** Why none can be served; null where one can be, or was not asked for yet: calls may be sent here. */
  trouble(): string | null {
    const [refusal] = this.#refused.values();
    return refusal !== undefined && this.#refused.size === this.#options.numbers.length ? messageOf(refusal) : null;
  }

  close(): void {
    this.#closed = true;
    for (const shard of this.#shards.values()) shard.close();
    this.#shards.clear();
  }

  #shard(number: number): Shard {
    const known = this.#shards.get(number);
    if (known !== undefined) return known;
    if (this.#closed) throw overloaded('The vector store is stopping. Retry it.');
    const refusal = this.#refused.get(number);
    if (refusal !== undefined) throw refusal;
    if (!this.#options.numbers.includes(number)) throw new Error(`shard ${number} is not this store's`);
    try {
      const opened = this.#open(number);
      this.#shards.set(number, opened);
      this.#logged.delete(number);
      return opened;
    } catch (error) {
      throw this.#notOpened(number, error);
    }
  }

  #open(number: number): Shard {
    const { wal, onStoredBytes } = this.#options;
    const file = openShardFile(this.#path(number), number, wal);
    try {
      const opened = openShard({ ...this.#options, file });
      for (const { account, bytes } of opened.storedBytes()) onStoredBytes(account, bytes);
      return opened;
    } catch (error) {
      file.close();
      throw error;
    }
  }

  #path(number: number): string {
    return join(this.#options.folder, `shard-${number}.db`);
  }

  /** The error for callers. The operator gets it once. */
  #notOpened(number: number, error: unknown): FailureError {
    const failure = notOpened(number, error);
    // A passing trouble, such as a full disk or a lock: the next call tries again.
    if (storageTrouble(error) === 'damaged' || error instanceof FailureError) this.#refused.set(number, failure);
    if (!this.#logged.has(number)) {
      const reason = error instanceof FailureError ? messageOf(error) : error instanceof Error ? error.message : error;
      this.#options.report(`vectors: shard-${number}.db cannot be opened: ${reason}`);
    }
    this.#logged.add(number);
    return failure;
  }
}

function notOpened(number: number, error: unknown): FailureError {
  if (error instanceof FailureError) return error;
  return overloaded(
    storageTrouble(error) === 'damaged'
      ? `This part of the vector data (shard-${number}.db) is damaged on the disk and is not served. Other parts are. Restore it from a backup.`
      : `This part of the vector data (shard-${number}.db) cannot be opened now. Retry it.`,
  );
}

function messageOf({ failure, message }: FailureError): string {
  return 'message' in failure ? failure.message : message;
}
