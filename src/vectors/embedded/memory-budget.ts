import { type CollectionMemory, createCollectionMemory } from './collection-memory.ts';
import type { CollectionRow } from './collection-table.ts';
import { createColumns } from './columns/create-columns.ts';
import { createArena } from './index/arena.ts';
import { createVectorIndex } from './index/create-vector-index.ts';
import { createDiskIndex } from './index/disk-index.ts';
import type { IndexOptions } from './index/vector-index.ts';
import { checkedPointsMax, checkRows } from './open-collection.ts';
import type { PointTable } from './point-table.ts';
import type { RowWatch } from './row-watch.ts';

/** Of the memory for vectors, what indexes may take; columns of payloads have the rest. */
const indexShare = 7 / 8;

/** The memory that all collections of a thread share; those used least recently give theirs back when it is short. */
export interface MemoryBudget {
  /** `count`: points of the collection as of now. */
  memoryOf(points: PointTable, row: CollectionRow, count: () => number): CollectionMemory;
  /** Bytes that indexes take. */
  readonly bytesUsed: number;
}

export function createMemoryBudget(options: {
  bytesMax: number;
  tell(message: string): void;
  watch: RowWatch;
}): MemoryBudget {
  const { watch } = options;
  const arena = createArena({ bytesMax: Math.floor(options.bytesMax * indexShare) });
  const columnBytesMax = Math.floor(options.bytesMax * (1 - indexShare));
  if (arena.warning !== null) options.tell(`vectors: ${arena.warning}`);
  /** In order of use. */
  const indexes = new Set<CollectionMemory>();
  const columns = new Set<CollectionMemory>();

  function leastRecent(of: ReadonlySet<CollectionMemory>, besides: CollectionMemory): CollectionMemory | null {
    for (const memory of of) if (memory !== besides) return memory;
    return null;
  }

  function openIndex(owner: CollectionMemory, index: IndexOptions, name: string) {
    // What cannot fit when all others have gone must not make them go.
    const fewestBytes = index.rows.count() * index.size;
    while (fewestBytes <= arena.bytesMax) {
      const opened = createVectorIndex(index, arena);
      if (opened !== null) return opened;
      const given = leastRecent(indexes, owner);
      if (given === null) break;
      indexes.delete(given);
      given.dropIndex();
    }
    options.tell(
      `vectors: collection '${name}' (${index.rows.count()} points of ${index.size} components) does not fit vectors.memory and is served from the disk, slower`,
    );
    return createDiskIndex(index);
  }

  /** Columns grow as filters use them: what all hold is counted each time. */
  function boundColumns(owner: CollectionMemory): void {
    let bytes = 0;
    for (const memory of columns) bytes += memory.columnBytes;
    while (bytes > columnBytesMax) {
      const given = leastRecent(columns, owner);
      if (given === null) return;
      bytes -= given.columnBytes;
      columns.delete(given);
      given.dropColumns();
    }
  }

  return {
    memoryOf(points, { cid, spec, points: atFirst }, count) {
      let checked = atFirst <= checkedPointsMax;
      /** Said of one key of each collection: how many keys there are is the callers'. */
      let toldKey = false;
      const rows = {
        count,
        watch,
        vector: (slot: number) => points.vector(cid, slot, spec.size),
        each: (visit: (slot: number, vector: Float32Array) => void) => points.eachVector(cid, spec.size, visit),
      };
      return createCollectionMemory({
        openIndex(owner) {
          if (!checked) checkRows(points, cid);
          checked = true;
          return openIndex(owner, { distance: spec.distance, size: spec.size, rows }, spec.name);
        },
        openColumns: () =>
          createColumns(
            {
              count,
              each: (visit) => points.eachRow(cid, visit),
              row: (slot) => points.row(cid, slot),
              slotOf: (id) => points.slotOfId(cid, id),
              watch,
              tooLarge(key) {
                if (!toldKey) options.tell(columnTooLarge(spec.name, key, columnBytesMax));
                toldKey = true;
              },
            },
            columnBytesMax,
          ),
        used(owner, part) {
          const uses = part === 'index' ? indexes : columns;
          uses.delete(owner);
          uses.add(owner);
          if (part === 'columns') boundColumns(owner);
        },
        closed(owner) {
          indexes.delete(owner);
          columns.delete(owner);
        },
      });
    },
    get bytesUsed() {
      return arena.bytesUsed;
    },
  };
}

function columnTooLarge(collection: string, key: string, bytesMax: number): string {
  return `vectors: collection '${collection}': the values of '${key.slice(0, 64)}' do not fit the ${bytesMax} bytes that vectors.memory leaves for filters; those on it read points from the disk, slower`;
}
