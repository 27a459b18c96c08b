import { deserialize, serialize } from 'node:v8';
import { crc32 } from 'node:zlib';
import { readKeyPath } from '../../filter/read-key-path.ts';
import { type CodeImage, fillRuns, ImageUnusable, type SavedImage } from '../index/code-image.ts';
import type { Steps } from '../index/resumable-steps.ts';
import { type Column, createColumn, type SavedColumn } from './column.ts';
import { createLiveSlots, type LiveSlots } from './live-slots.ts';

/** Columns that are larger, or have more different values, are made of the rows: one is written, and taken up, at a time. */
const savedBytesMax = 64 * 1024 * 1024;
const savedValuesMax = 100_000;

/** Pieces of an image, one after another: its bytes (u32) and these, by `node:v8`. The slots first, then each column. */
type SavedLive = Pick<LiveSlots, 'set' | 'end'>;
interface SavedKey {
  key: string;
  saved: SavedColumn;
}

export interface SavedColumns {
  live: LiveSlots;
  columns: readonly Column[];
}

/** Null when there is nothing to keep. */
export function columnImage(
  live: LiveSlots,
  columns: readonly Column[],
  isCurrent: CodeImage['isCurrent'],
): CodeImage | null {
  const saved = columns.filter(({ bytes, dictionary }) => bytes <= savedBytesMax && dictionary.end <= savedValuesMax);
  if (saved.length === 0) return null;
  const names = saved.map(({ key }) => key.text);
  return {
    count: saved.length,
    bytes: saved.reduce((sum, { bytes }) => sum + bytes, live.bytes),
    // Another choice of columns is another image.
    keep: crc32(names.sort().join('\0')),
    isCurrent,
    *parts() {
      yield { part: 'columns', runs: pieces(live, saved) };
    },
  };
}

function* pieces(live: LiveSlots, columns: readonly Column[]): Iterable<Uint8Array> {
  yield* piece({ set: live.set, end: live.end } satisfies SavedLive);
  for (const column of columns) yield* piece({ key: column.key.text, saved: column.save() } satisfies SavedKey);
}

function* piece(value: SavedLive | SavedKey): Iterable<Uint8Array> {
  const bytes = serialize(value);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  yield length;
  yield bytes;
}

/** Throws `ImageUnusable`. */
export function* readColumns(image: SavedImage): Steps<SavedColumns> {
  const bytes = Buffer.allocUnsafeSlow(image.bytes);
  image.begin('columns', bytes.length);
  yield* fillRuns(image, stretches(bytes));
  image.end();
  let live: LiveSlots | undefined;
  const columns: Column[] = [];
  try {
    for (let at = 0; at < bytes.length; yield) {
      const end = at + 4 + bytes.readUInt32LE(at);
      const value = deserialize(bytes.subarray(at + 4, end)) as SavedLive | SavedKey;
      if ('key' in value) columns.push(createColumn(readKeyPath(value.key, 'key'), value.saved));
      else live = createLiveSlots(value);
      at = end;
    }
  } catch (error) {
    // Written by another version of Node, or of this.
    throw new ImageUnusable(String(error));
  }
  if (live === undefined) throw new ImageUnusable('it has no slots');
  return { live, columns };
}

function* stretches(bytes: Uint8Array): Iterable<Uint8Array> {
  const stretch = 1024 * 1024;
  for (let at = 0; at < bytes.length; at += stretch) yield bytes.subarray(at, at + stretch);
}
