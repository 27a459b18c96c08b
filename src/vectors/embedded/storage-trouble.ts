import { FailureError } from '../../kernel/failure.ts';

/**
 * Meaning of a storage error: `full`: no room, passes without help; `unsynced`: a commit that may or may not be on the
 * disk, and which nobody may try again (fsync forgets what it could not write); `damaged`: the bytes differ from the
 * written ones; `passing`: the same may work later. Null: not the storage's.
 */
export type StorageTrouble = 'full' | 'unsynced' | 'damaged' | 'passing';

// Primary and extended result codes: https://www.sqlite.org/rescode.html
const sqliteFull = 13;
const sqliteCorrupt = 11;
const sqliteNotADatabase = 26;
const sqliteIoError = 10;
const unsyncedCodes: readonly number[] = [1034, 1290];
/** A read that ended before the page did: the file was cut. */
const shortReadCode = 522;
/** BUSY, LOCKED, NOMEM, READONLY, CANTOPEN, PROTOCOL. */
const passingCodes: readonly number[] = [5, 6, 7, 8, 14, 15];

/** Rows whose checksums, lengths or counts are wrong. */
export class DamagedRows extends Error {
  constructor(what: string) {
    super(what);
    this.name = 'DamagedRows';
  }
}

export function storageTrouble(error: unknown): StorageTrouble | null {
  if (error instanceof DamagedRows) return 'damaged';
  if (!(error instanceof Error)) return null;
  // An integer that no row of ours holds: node:sqlite refuses to read it as a number.
  if ('code' in error && error.code === 'ERR_OUT_OF_RANGE') return 'damaged';
  if (!('errcode' in error) || typeof error.errcode !== 'number') return null;
  const code = error.errcode;
  if (unsyncedCodes.includes(code)) return 'unsynced';
  if (code === shortReadCode) return 'damaged';
  switch (code & 0xff) {
    case sqliteFull:
      return 'full';
    case sqliteCorrupt:
    case sqliteNotADatabase:
      return 'damaged';
    case sqliteIoError:
      return 'passing';
    default:
      return passingCodes.includes(code & 0xff) ? 'passing' : null;
  }
}

/** A 503: nothing was done, and the same call may pass later. */
export function overloaded(message: string): FailureError {
  return new FailureError({ kind: 'overloaded', message });
}

export function notWritable(error: unknown): FailureError {
  const reason = error instanceof Error ? error.message : String(error);
  return overloaded(
    storageTrouble(error) === 'full'
      ? 'Vectors cannot be written now, because the disk is full. Nothing of the call was written. Reads still work. Retry when there is room.'
      : `Vectors cannot be written now (${reason}). Nothing of the call was written. Retry it.`,
  );
}
