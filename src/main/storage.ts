import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  createStorageBook,
  type StorageBook,
  type StorageElsewhere,
  type StorageParts,
} from '../books/metering/storage/storage-book.ts';
import type { Clock } from '../kernel/clock.ts';
import { createDiskRoom, type DiskRoom } from '../stores/disk-room.ts';
import type { DataFolder } from '../stores/sqlite/data-folder.ts';

/** How much accounts store, and the room for it. */
export interface Storage {
  book: StorageBook;
  room: DiskRoom;
  stop(): void;
}

export function openStorage(options: {
  folder: DataFolder;
  measure: StorageParts['measure'];
  allowed(account: string): number | null;
  /** Bytes of its vectors; null where they are not here. */
  vectors(account: string): Promise<number | null>;
  /** Bytes of its uploads that wait for their requests. */
  uploads(account: string): number;
  reserve(): number | null;
  /** Other processes of this server. */
  others: StorageElsewhere | undefined;
  clock: Clock;
}): Storage {
  const { folder, clock } = options;
  const room = createDiskRoom(folder.path, options.reserve);
  const book = createStorageBook({
    allowed: options.allowed,
    async vectors(account) {
      // An account without vectors has no threads for them.
      return existsSync(join(folder.path, 'vectors')) ? options.vectors(account) : null;
    },
    uploads: options.uploads,
    measure: options.measure,
    room,
    others: options.others ?? null,
    clock,
  });
  return { book, room, stop: room.stop };
}
