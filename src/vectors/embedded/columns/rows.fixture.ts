import type { PointId } from '../../point.ts';
import type { CodeImage, SavedImage } from '../index/code-image.ts';
import { unwatched } from '../row-watch.ts';
import type { ColumnSource } from './columns.ts';

/** A collection's rows in memory, for tests of structures made from rows. */
export interface Rows extends ColumnSource {
  /** How many passes over all rows, and how many single rows, were read. */
  readonly passes: number;
  readonly reads: number;
  put(slot: number, id: PointId, payload: string | null): void;
  /** False when there was none. */
  remove(slot: number): boolean;
  /** Gives this image until a row changes. */
  keep(image: CodeImage | null): void;
  /** By slot. */
  all(): { slot: number; id: PointId; payload: string | null }[];
}

export function createRows(): Rows {
  const rows = new Map<number, { slot: number; id: PointId; payload: string | null }>();
  let passes = 0;
  let reads = 0;
  let saved: SavedImage | null = null;
  const hasVector = (slot: number, name: string) => name === '' || (name === 'even' && slot % 2 === 0);
  const all = () => [...rows.values()].sort((a, b) => a.slot - b.slot);
  return {
    get passes() {
      return passes;
    },
    get reads() {
      return reads;
    },
    count: () => rows.size,
    slotOf: (id) => [...rows.values()].find((row) => row.id === id)?.slot ?? null,
    row(slot) {
      reads++;
      const row = rows.get(slot);
      if (row === undefined) throw new Error(`no row ${slot}`);
      return row;
    },
    each(visit, { from, limit } = { from: 0, limit: rows.size }) {
      if (from === 0) passes++;
      const part = all().filter(({ slot }) => slot >= from);
      for (const { slot, id, payload } of part.slice(0, limit)) visit(slot, id, payload);
      return part[limit]?.slot ?? null;
    },
    // Points in even slots have the vector 'even'.
    hasVector,
    withVector: (name) => [...rows.keys()].filter((slot) => hasVector(slot, name)),
    openImage: () => saved,
    keep(image) {
      saved = image && imageInMemory(image);
    },
    watch: unwatched,
    tooLarge() {},
    put(slot, id, payload) {
      saved = null;
      rows.set(slot, { slot, id, payload });
    },
    remove(slot) {
      saved = null;
      return rows.delete(slot);
    },
    all,
  };
}

function imageInMemory({ count, keep, parts }: CodeImage): SavedImage {
  const runs = [...parts()].flatMap(({ runs }) => [...runs]);
  const bytes = Buffer.concat(runs);
  return { count, keep, bytes: bytes.length, begin() {}, read: (into) => void bytes.copy(into), end() {}, close() {} };
}
