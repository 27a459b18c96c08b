import type { CollectionMemory } from './collection-memory.ts';
import type { CollectionRow } from './collection-row.ts';
import { type Arena, createArena } from './index/arena.ts';
import { makeVectorIndex } from './index/create-vector-index.ts';
import { createDiskIndex } from './index/disk-index.ts';
import { denseIndex, type FieldIndex } from './index/field-index.ts';
import { createMultiIndex } from './index/multi-index.ts';
import { type PassCores, PassThreads } from './index/pass-threads.ts';
import { ReadVectorsRoom } from './index/read-vectors.ts';
import type { Steps } from './index/resumable-steps.ts';
import { createSparseIndex } from './index/sparse-index.ts';
import type { IndexOptions, VectorIndex } from './index/vector-index.ts';
import { LeastRecent } from './least-recent.ts';
import type { RowWatch } from './row-watch.ts';
import type { VectorRows } from './vector-rows.ts';

/** Share of the memory for indexes that sparse ones, which are outside the arena, may take. */
const sparseShare = 1 / 2;

/** The memory of the indexes of all collections: opens them as far as there is room, others giving theirs back. */
export class IndexMemory {
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
