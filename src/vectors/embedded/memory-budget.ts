import { withTextIndexes } from '../filter/with-text-indexes.ts';
import { type CollectionMemory, createCollectionMemory } from './collection-memory.ts';
import type { CollectionRow } from './collection-table.ts';
import { createColumns } from './columns/create-columns.ts';
import { createArena } from './index/arena.ts';
import { createVectorIndex } from './index/create-vector-index.ts';
import { createDiskIndex } from './index/disk-index.ts';
import { denseIndex, type FieldIndex } from './index/field-index.ts';
import { createMultiIndex } from './index/multi-index.ts';
import { createSparseIndex } from './index/sparse-index.ts';
import type { IndexOptions } from './index/vector-index.ts';
import { checkedPointsMax, checkRows, type OpenCollection } from './open-collection.ts';
import type { PointTable } from './point-table.ts';
import type { RowWatch } from './row-watch.ts';
import { textIndexesOf } from './text-indexes.ts';
import type { VectorRows } from './vector-rows.ts';

/** Of the memory for vectors, what indexes may take; columns of payloads have the rest. */
const indexShare = 7 / 8;
/** Of what indexes may take, what sparse ones may, which lie beside the arena. */
const sparseShare = 1 / 2;

/** The memory that all collections of a thread share; those used least recently give theirs back when it is short. */
export interface MemoryBudget {
  /** `now`: the collection's row as of now. */
  memoryOf(
    points: PointTable,
    row: CollectionRow,
    vectors: OpenCollection['vectors'],
    now: () => CollectionRow,
  ): CollectionMemory;
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
  const sparseBytesMax = Math.floor(arena.bytesMax * sparseShare);
  const columnBytesMax = Math.floor(options.bytesMax * (1 - indexShare));
  if (arena.warning !== null) options.tell(`vectors: ${arena.warning}`);
  /** In order of use. */
  const indexes = new Set<CollectionMemory>();
  const columns = new Set<CollectionMemory>();

  function leastRecent(of: ReadonlySet<CollectionMemory>, besides: CollectionMemory): CollectionMemory | null {
    for (const memory of of) if (memory !== besides) return memory;
    return null;
  }

  const heapBytes = (): number => {
    let bytes = 0;
    for (const memory of indexes) bytes += memory.heapBytes;
    return bytes;
  };

  /** Whether `owner` may hold so much beside the arena; others give theirs back for it. */
  function heapRoom(owner: CollectionMemory, bytes: number): boolean {
    if (bytes > sparseBytesMax) return false;
    while (heapBytes() - owner.heapBytes + bytes > sparseBytesMax || arena.bytesUsed + bytes > arena.bytesMax) {
      const given = leastRecent(indexes, owner);
      if (given === null) return arena.bytesUsed + bytes <= arena.bytesMax;
      indexes.delete(given);
      given.dropIndex();
    }
    return true;
  }

  function openDense(owner: CollectionMemory, index: IndexOptions, name: string) {
    // What cannot fit when all others have gone must not make them go.
    const fewestBytes = index.rows.count() * index.size;
    while (fewestBytes <= arena.bytesMax - owner.heapBytes) {
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

  function openIndex(owner: CollectionMemory, vector: VectorRows, collection: string): FieldIndex {
    const { spec } = vector;
    const rows = {
      count: vector.count,
      watch,
      value: vector.value,
      each: vector.each,
    };
    switch (spec.kind) {
      case 'dense': {
        const { distance, size } = spec;
        // What stands under the name of a dense vector is one.
        const dense = {
          ...rows,
          vector: vector.value as IndexOptions['rows']['vector'],
          each: vector.each as IndexOptions['rows']['each'],
        };
        return denseIndex(openDense(owner, { distance, size, rows: dense }, collection));
      }
      case 'multi':
        return createMultiIndex({ spec, rows });
      case 'sparse':
        return createSparseIndex({
          modifier: spec.modifier,
          rows,
          room: (bytes) => heapRoom(owner, bytes),
          tooLarge: () =>
            options.tell(
              `vectors: the sparse vectors '${vector.name}' of collection '${collection}' (${rows.count()} points) do not fit vectors.memory and are searched on the disk, slower`,
            ),
        });
    }
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
    memoryOf(points, { cid, spec, points: atFirst }, vectors, now) {
      const count = () => now().points;
      let checked = atFirst <= checkedPointsMax;
      /** Said of one key of each collection: how many keys there are is the callers'. */
      let toldKey = false;
      return createCollectionMemory({
        openIndex(owner, name) {
          if (!checked) checkRows(points, cid);
          checked = true;
          return openIndex(owner, vectors.get(name)!, spec.name);
        },
        openColumns: () =>
          createColumns(
            {
              count,
              each: (visit) => points.eachRow(cid, visit),
              row: (slot) => points.row(cid, slot),
              slotOf: (id) => points.slotOfId(cid, id),
              hasVector: (slot, name) => vectors.get(name)?.has(slot) ?? false,
              withVector: (name) => vectors.get(name)?.slots() ?? [],
              watch,
              tooLarge(key) {
                if (!toldKey) options.tell(columnTooLarge(spec.name, key, columnBytesMax));
                toldKey = true;
              },
            },
            columnBytesMax,
          ),
        understood(filter) {
          const indexes = now().indexes.filter(({ params }) => params !== undefined);
          return indexes.length === 0 ? filter : withTextIndexes(filter, textIndexesOf(indexes));
        },
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
