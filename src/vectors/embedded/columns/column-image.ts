import { deserialize, serialize } from 'node:v8';
import { crc32 } from 'node:zlib';
import { readKeyPath } from '../../filter/read-key-path.ts';
import { type CodeImage, ImageUnusable, type KeptImage } from '../index/code-image.ts';
import { type Column, createColumn, type SavedColumn } from './column.ts';
import { createLiveSlots, type LiveSlots } from './live-slots.ts';

/** Columns that are larger, or have more different values, are made of the rows: others would wait for the reading of them. */
const keptBytesMax = 8 * 1024 * 1024;
const keptValuesMax = 100_000;
/** Of all columns of a collection. */
const imageBytesMax = 24 * 1024 * 1024;

/** The bytes of an image, by `node:v8`: its typed arrays are read without a look at their elements. */
interface SavedColumns {
  live: Pick<LiveSlots, 'set' | 'end'>;
  columns: readonly { key: string; saved: SavedColumn }[];
}

/** Null when there is nothing to keep. `columns`: of those that do not fit, the ones that come first are left out. */
export function columnImage(
  live: LiveSlots,
  columns: readonly Column[],
  isCurrent: CodeImage['isCurrent'],
): CodeImage | null {
  let bytes = 0;
  const kept = columns.toReversed().filter((column) => {
    if (column.bytes > keptBytesMax || column.dictionary.end > keptValuesMax) return false;
    bytes += column.bytes;
    return bytes <= imageBytesMax;
  });
  if (kept.length === 0) return null;
  const names = kept.map(({ key }) => key.text);
  return {
    count: kept.length,
    bytes,
    // Another choice of columns is another image.
    keep: crc32(names.sort().join('\0')),
    isCurrent,
    *parts() {
      const saved = kept.map((column) => ({ key: column.key.text, saved: column.save() }));
      const whole: SavedColumns = { live: { set: live.set, end: live.end }, columns: saved };
      yield { part: 'columns', runs: [serialize(whole)] };
    },
  };
}

/** Throws `ImageUnusable`. */
export function readColumns(image: KeptImage): { live: LiveSlots; columns: readonly Column[] } {
  const bytes = Buffer.allocUnsafeSlow(image.bytes);
  image.begin('columns', bytes.length);
  image.read(bytes);
  image.end();
  try {
    const { live, columns } = deserialize(bytes) as SavedColumns;
    return {
      live: createLiveSlots(live),
      columns: columns.map(({ key, saved }) => createColumn(readKeyPath(key, 'key'), saved)),
    };
  } catch (error) {
    // Written by another version of Node.
    throw new ImageUnusable(String(error));
  }
}
