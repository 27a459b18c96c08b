import { SharedRoom } from '../shared-room.ts';
import { type Arena, ArenaFull } from './arena.ts';
import { type ArenaRows, createArenaRows } from './arena-rows.ts';

/** Share of the arena that vectors of the disk may take. */
const roomShare = 1 / 32;
/** Share of the arena that must be free where they take more of it: indexes come first. */
const freeShare = 1 / 8;

/** The part of an arena for vectors that searches have read from the disk. */
export class ReadVectorsRoom extends SharedRoom {
  readonly arena: Arena;

  constructor(arena: Arena) {
    super(arena.bytesMax * roomShare);
    this.arena = arena;
  }

  override hasRoom(user: ReadVectors): boolean {
    const { bytesMax, bytesUsed } = this.arena;
    return bytesMax - bytesUsed >= bytesMax * freeShare && super.hasRoom(user);
  }
}

/** Vectors of one index that searches have read from the disk, until they change. */
export class ReadVectors {
  readonly #room: ReadVectorsRoom;
  readonly #size: number;
  readonly #read: (slot: number) => Float32Array | null;
  readonly #rows: ArenaRows;
  readonly #rowOf = new Map<number, number>();
  readonly #slots: number[] = [];
  #turn = 0;

  /** `read`: from the disk, checked. `size`: components. */
  constructor(room: ReadVectorsRoom, size: number, read: (slot: number) => Float32Array | null) {
    this.#room = room;
    this.#size = size;
    this.#read = read;
    this.#rows = createArenaRows(room.arena, Math.ceil(size / 4) * 16);
  }

  get bytes(): number {
    return this.#rows.bytes;
  }

  /** The vector as it is on the disk, from memory where it has been read before; good until the next call. */
  vector(slot: number): Float32Array | null {
    this.#room.used(this);
    const known = this.#rowOf.get(slot);
    if (known !== undefined) return this.#viewOf(known);
    const vector = this.#read(slot);
    const row = vector === null ? null : this.#nextRow();
    if (vector === null || row === null) return vector;
    const view = this.#viewOf(row);
    view.set(vector);
    this.#place(slot, row);
    return view;
  }

  /** The slot has got another vector, or none. */
  forget(slot: number): void {
    const row = this.#rowOf.get(slot);
    if (row === undefined) return;
    this.#rowOf.delete(slot);
    const last = this.#rows.count - 1;
    if (row !== last) {
      this.#viewOf(row).set(this.#viewOf(last));
      this.#place(this.#slotOf(last), row);
    }
    const { bytes } = this.#rows;
    this.#rows.pop();
    this.#room.gave(bytes - this.#rows.bytes);
  }

  clear(): void {
    this.#room.gave(this.#rows.bytes);
    this.#rows.close();
    this.#rowOf.clear();
  }

  close(): void {
    this.#room.closed(this);
  }

  /** The row that the next vector goes to; null where there is no room for any. */
  #nextRow(): number | null {
    const { count } = this.#rows;
    const added = this.#addedRow();
    if (added !== null || count === 0) return added;
    // Callers may repeat more searches than there is room for: the oldest row would be the next one wanted.
    this.#turn = (Math.imul(this.#turn, 1_664_525) + 1_013_904_223) >>> 0;
    const row = Math.floor((this.#turn / 2 ** 32) * count);
    this.#rowOf.delete(this.#slotOf(row));
    return row;
  }

  #addedRow(): number | null {
    const rows = this.#rows;
    if (rows.count === rows.capacity && !this.#room.hasRoom(this)) return null;
    const { bytes } = rows;
    try {
      rows.push();
    } catch (error) {
      if (error instanceof ArenaFull) return null;
      throw error;
    }
    this.#room.took(rows.bytes - bytes);
    return rows.count - 1;
  }

  #place(slot: number, row: number): void {
    this.#rowOf.set(slot, row);
    this.#slots[row] = slot;
  }

  #slotOf(row: number): number {
    return this.#slots[row] ?? -1;
  }

  #viewOf(row: number): Float32Array {
    const at = this.#rows.address(row) >>> 2;
    return this.#room.arena.views.f32.subarray(at, at + this.#size);
  }
}
