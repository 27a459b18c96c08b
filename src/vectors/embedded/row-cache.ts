import type { PointRow } from './point-table.ts';
import type { SharedRoom } from './shared-room.ts';

/** Characters of a payload; longer ones are read each time. */
const payloadCharsMax = 4_096;
/** Bytes of a row without its payload. */
const rowBytes = 128;

/** Ids and payloads of one collection's points that searches have read from the disk, until they change. */
export type ReadRows = ReturnType<typeof createReadRows>;

/** `read`: from the disk, checked; its errors are thrown. */
export function createReadRows(room: SharedRoom, read: (slot: number) => PointRow) {
  /** The oldest first. */
  const rows = new Map<number, PointRow>();

  function keep(slot: number, row: PointRow): void {
    if ((row.payload?.length ?? 0) > payloadCharsMax) return;
    if (!room.hasRoom(readRows)) {
      for (const oldest of rows.keys()) {
        readRows.forget(oldest);
        break;
      }
    }
    rows.set(slot, row);
    room.took(bytesOf(row));
  }

  const readRows = {
    row(slot: number): PointRow {
      room.used(readRows);
      const known = rows.get(slot);
      if (known !== undefined) return known;
      const row = read(slot);
      keep(slot, row);
      return row;
    },
    /** The slot has got another row, or none. */
    forget(slot: number): void {
      const row = rows.get(slot);
      if (row === undefined) return;
      rows.delete(slot);
      room.gave(bytesOf(row));
    },
    clear(): void {
      for (const row of rows.values()) room.gave(bytesOf(row));
      rows.clear();
    },
    close: (): void => room.closed(readRows),
  };
  return readRows;
}

/** Characters beyond Latin take two bytes each. */
function bytesOf({ payload }: PointRow): number {
  return rowBytes + 2 * (payload?.length ?? 0);
}
