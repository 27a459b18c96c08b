import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createStorageBook, type StorageParts } from '../books/metering/storage/storage-book.ts';
import { createDiskRoom } from '../stores/disk-room.ts';
import type { DataFolder } from '../stores/sqlite/data-folder.ts';

/** How much accounts store, and the room for it. */
export type Storage = ReturnType<typeof openStorage>;

/** `reserve`: bytes of the disk that stay free; null: the default. */
export function openStorage({
  folder,
  reserve,
  ...parts
}: Omit<StorageParts, 'room'> & { folder: DataFolder; reserve(): number | null }) {
  const room = createDiskRoom(folder.path, reserve);
  const book = createStorageBook({
    ...parts,
    room,
    async vectors(account) {
      // An account without vectors has no threads for them.
      return existsSync(join(folder.path, 'vectors')) ? parts.vectors(account) : null;
    },
  });
  return { book, room, stop: room.stop };
}
