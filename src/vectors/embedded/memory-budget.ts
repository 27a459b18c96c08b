import { knownEntry } from '../../kernel/known-entry.ts';
import { type TextIndexes, withTextIndexes } from '../filter/with-text-indexes.ts';
import { readTextIndex } from '../wire/read-text-options.ts';
import { type CollectionMemory, createCollectionMemory } from './collection-memory.ts';
import type { CollectionRow } from './collection-row.ts';
import { createColumns } from './columns/create-columns.ts';
import { type Arena, createArena } from './index/arena.ts';
import { ImageUnusable } from './index/code-image.ts';
import { makeVectorIndex, tierLimits } from './index/create-vector-index.ts';
import { createDiskIndex } from './index/disk-index.ts';
import { denseIndex, type FieldIndex } from './index/field-index.ts';
import { createMultiIndex } from './index/multi-index.ts';
import { type PassCores, PassThreads } from './index/pass-threads.ts';
import { ReadVectorsRoom } from './index/read-vectors.ts';
import { finish, type Steps } from './index/resumable-steps.ts';
import { createSparseIndex } from './index/sparse-index.ts';
import type { IndexOptions, VectorIndex } from './index/vector-index.ts';
import { columnsKey, type IndexImages, imageKey } from './index-images.ts';
import { LeastRecent } from './least-recent.ts';
import { checkedPointsMax, checkRows, type OpenCollection } from './open-collection.ts';
import type { PointTable } from './point-table.ts';
import { createReadRows } from './row-cache.ts';
import type { RowWatch } from './row-watch.ts';
import { SharedRoom } from './shared-room.ts';
import { DamagedRows } from './storage-trouble.ts';
import type { VectorRows } from './vector-rows.ts';

/** Part of the memory for vectors that indexes may take; columns of payloads have the rest. */
const indexShare = 7 / 8;
/** Part of it for rows that searches have read. */
const rowShare = 1 / 64;

/** The memory that all collections of a thread share; those used least recently give theirs back when it is short. */
export type MemoryBudget = ReturnType<typeof createMemoryBudget>;

export function createMemoryBudget(options: {
  bytesMax: number;
  passCores?: PassCores | undefined;
  report(message: string): void;
  watch: RowWatch;
}) {
  const { watch } = options;
  const indexes = new IndexMemory(Math.floor(options.bytesMax * indexShare), options);
  const columnBytesMax = Math.floor(options.bytesMax * (1 - indexShare - rowShare));
  const columns = new LeastRecent<CollectionMemory>();
  const rows = new SharedRoom(Math.floor(options.bytesMax * rowShare));

  /** Columns grow as filters use them: what all hold is counted each time. */
  function boundColumns(owner: CollectionMemory): void {
    let bytes = 0;
    for (const memory of columns) bytes += memory.columnBytes;
    while (bytes > columnBytesMax) {
      const given = columns.takeBesides(owner);
      if (given === null) return;
      bytes -= given.columnBytes;
      given.dropColumns();
    }
  }

  return {
    /** `now`: the collection's row as of now. */
    memoryOf(
      points: PointTable,
      { cid, spec, points: atFirst }: CollectionRow,
      vectors: OpenCollection['vectors'],
      now: () => CollectionRow,
      images: Pick<IndexImages, 'open'>,
    ): CollectionMemory {
      const count = () => now().points;
      let checked = atFirst <= checkedPointsMax;
      /** Logged for one key of each collection: callers decide how many keys there are. */
      let logged = false;
      return createCollectionMemory({
        *openIndex(owner, name, early) {
          const vector = knownEntry(vectors, name);
          const image = images.open(imageKey(now(), vector));
          if (image !== null) {
            try {
              return yield* indexes.open(owner, vector, spec.name, { image, early });
            } catch (error) {
              if (!(error instanceof ImageUnusable)) throw error;
            } finally {
              image.close();
            }
          }
          if (!checked) yield* checkMeanwhile(points, cid);
          checked = true;
          return yield* indexes.open(owner, vector, spec.name);
        },
        isLarge(name) {
          const { spec, count } = knownEntry(vectors, name);
          return spec.kind === 'dense' && count() > tierLimits.floats;
        },
        look(name, slot) {
          const vector = knownEntry(vectors, name);
          return vector.has(slot) ? vector.look(slot) : null;
        },
        openRows: () => createReadRows(rows, (slot) => points.row(cid, slot)),
        openColumns: () =>
          createColumns(
            {
              count,
              each: (visit, part) => points.eachRow(cid, visit, part),
              row: (slot) => points.row(cid, slot),
              slotOf: (id) => points.slotOfId(cid, id),
              hasVector: (slot, name) => vectors.get(name)?.has(slot) ?? false,
              withVector: (name) => vectors.get(name)?.slots() ?? [],
              openImage: () => images.open(columnsKey(now())),
              watch,
              tooLarge(key) {
                if (!logged) options.report(columnTooLarge(spec.name, key, columnBytesMax));
                logged = true;
              },
            },
            columnBytesMax,
          ),
        understood(filter) {
          const ofTexts = now().indexes.filter(({ type, params }) => type === 'text' && params !== undefined);
          return ofTexts.length === 0 ? filter : withTextIndexes(filter, textIndexesOf(ofTexts));
        },
        used(owner, part) {
          if (part === 'index') return indexes.used(owner);
          columns.use(owner);
          boundColumns(owner);
        },
        closed(owner) {
          indexes.closed(owner);
          columns.delete(owner);
        },
      });
    },
    /** Bytes that indexes may take without another giving its own back. */
    get bytesFree(): number {
      return indexes.bytesFree;
    },
  };
}

/** Points that came or went between the steps look like damage: then they are checked at once. */
function* checkMeanwhile(points: PointTable, cid: number): Steps<void> {
  try {
    yield* checkRows(points, cid);
  } catch (error) {
    if (!(error instanceof DamagedRows)) throw error;
    finish(checkRows(points, cid));
  }
}

function columnTooLarge(collection: string, key: string, bytesMax: number): string {
  return `vectors: collection '${collection}': the values of '${key.slice(0, 64)}' do not fit the ${bytesMax} bytes that vectors.memory leaves for filters; searches that filter on it read points from the disk, slower`;
}

/** The payload indexes of a collection that define how texts are split into terms. */
function textIndexesOf(indexes: CollectionRow['indexes']): TextIndexes {
  return (field) => {
    const found = indexes.find(({ key, type }) => key === field && type === 'text');
    return found?.params === undefined ? null : readTextIndex(found.params, 'field_schema');
  };
}

/** Share of the memory for indexes that sparse ones, which are outside the arena, may take. */
const sparseShare = 1 / 2;

/** The memory of the indexes of all collections: opens them as far as there is room, others giving theirs back. */
class IndexMemory {
  readonly #arena: Arena;
  readonly #room: ReadVectorsRoom;
  readonly #sparseBytesMax: number;
  readonly #watch: RowWatch;
  readonly #report: (message: string) => void;
  readonly #users = new LeastRecent<CollectionMemory>();

  constructor(
    bytesMax: number,
    { watch, report, passCores }: { watch: RowWatch; report(message: string): void; passCores?: PassCores | undefined },
  ) {
    this.#arena = createArena({ bytesMax, threads: passCores === undefined ? null : new PassThreads(passCores) });
    this.#room = new ReadVectorsRoom(this.#arena);
    this.#sparseBytesMax = Math.floor(this.#arena.bytesMax * sparseShare);
    this.#watch = watch;
    this.#report = report;
    if (this.#arena.warning !== null) report(`vectors: ${this.#arena.warning}`);
  }

  get bytesFree(): number {
    return this.#arena.bytesMax - this.#arena.bytesUsed;
  }

  used(owner: CollectionMemory): void {
    this.#users.use(owner);
  }

  closed(owner: CollectionMemory): void {
    this.#users.delete(owner);
  }

  /** `saved`: an image of the present vectors, and a callback for when a part of it serves. Throws ImageUnusable. */
  *open(
    owner: CollectionMemory,
    vector: VectorRows,
    collection: CollectionRow['spec']['name'],
    saved?: Required<Pick<IndexOptions, 'image' | 'early'>>,
  ): Steps<FieldIndex> {
    const { spec } = vector;
    const rows = { count: vector.count, watch: this.#watch, value: vector.look, each: vector.each };
    switch (spec.kind) {
      case 'dense': {
        const { distance, size } = spec;
        // The index under the name of a dense vector is a dense one.
        const dense = {
          ...rows,
          vector: vector.look as IndexOptions['rows']['vector'],
          each: vector.each as IndexOptions['rows']['each'],
        };
        return denseIndex(
          yield* this.#openDense(owner, { distance, size, rows: dense, room: this.#room, ...saved }, collection),
        );
      }
      case 'multi':
        return createMultiIndex({ spec, rows });
      case 'sparse':
        return createSparseIndex({
          modifier: spec.modifier,
          rows,
          room: (bytes) => this.#heapRoom(owner, bytes),
          tooLarge: () =>
            this.#report(
              `vectors: the sparse vectors '${vector.name}' of collection '${collection}' (${rows.count()} points) do not fit vectors.memory; they are searched on the disk, slower`,
            ),
        });
    }
  }

  *#openDense(owner: CollectionMemory, index: IndexOptions, name: string): Steps<VectorIndex> {
    // An index that cannot fit even alone must not make the others go.
    const fewestBytes = index.rows.count() * index.size;
    while (fewestBytes <= this.#arena.bytesMax - owner.heapBytes) {
      const opened = yield* makeVectorIndex(index, this.#arena);
      if (opened !== null) return opened;
      if (!this.#giveBack(owner)) break;
    }
    this.#report(
      `vectors: collection '${name}' (${index.rows.count()} points of ${index.size} components) does not fit vectors.memory; it is served from the disk, slower`,
    );
    return createDiskIndex(index);
  }

  /** Whether `owner` may hold this much outside the arena; others give theirs back for it. */
  #heapRoom(owner: CollectionMemory, bytes: number): boolean {
    const arena = this.#arena;
    if (bytes > this.#sparseBytesMax) return false;
    while (
      this.#heapBytes() - owner.heapBytes + bytes > this.#sparseBytesMax ||
      arena.bytesUsed + bytes > arena.bytesMax
    ) {
      if (!this.#giveBack(owner)) return arena.bytesUsed + bytes <= arena.bytesMax;
    }
    return true;
  }

  #heapBytes(): number {
    let bytes = 0;
    for (const memory of this.#users) bytes += memory.heapBytes;
    return bytes;
  }

  /** One besides `owner` gives its memory back; false when there is none. */
  #giveBack(owner: CollectionMemory): boolean {
    const given = this.#users.takeBesides(owner);
    given?.dropIndex();
    return given !== null;
  }
}
