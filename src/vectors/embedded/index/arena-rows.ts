import { pageBytes } from '../kernels/linear-memory.ts';
import type { Arena } from './arena.ts';
import type { PassedRows } from './passes.ts';

/**
 * Rows of `stride` bytes (a multiple of 16), dense from 0, in blocks of the arena. Each row has a result of four bytes,
 * where kernels write, so that no search has to allocate.
 */
export interface ArenaRows extends PassedRows {
  readonly bytes: number;
  /** Rows that there are blocks for. */
  readonly capacity: number;
  /** Adds a row at the end with undefined content. Throws ArenaFull without any effect. */
  push(): void;
  /** The last row goes. */
  pop(): void;
  address(row: number): number;
  resultAddress(row: number): number;
  /** All rows in order, as many at a time as lie one after another: views, good until the arena grows. */
  runs(): Iterable<Uint8Array>;
  /** Adds rows until there are `total`, as many at a time, with the view that they are to be written to. Throws ArenaFull. */
  added(total: number): Iterable<Uint8Array>;
  close(): void;
}

/** Bytes of a block that may be lost because no row fits into them. */
const wasteMax = 0.05;
const blockPagesMax = 16;

export function createArenaRows(arena: Arena, stride: number): ArenaRows {
  const cell = stride + 4;
  const blockBytes = blockPages(cell) * pageBytes;
  const rowsPerBlock = Math.floor(blockBytes / cell);
  const resultsOffset = rowsPerBlock * stride;
  const blocks: number[] = [];
  let count = 0;

  return {
    get count() {
      return count;
    },
    get bytes() {
      return blocks.length * blockBytes;
    },
    get capacity() {
      return blocks.length * rowsPerBlock;
    },
    stride,
    layout: { blocks, rowsPerBlock, resultsOffset },
    push() {
      if (count === this.capacity) blocks.push(arena.alloc(blockBytes));
      count += 1;
    },
    pop() {
      count -= 1;
      // One empty block stays, so that a row coming and going does not allocate each time.
      if (count <= (blocks.length - 2) * rowsPerBlock) arena.free(blocks.pop()!, blockBytes);
    },
    address(row) {
      const block = Math.floor(row / rowsPerBlock);
      return blocks[block]! + (row - block * rowsPerBlock) * stride;
    },
    resultAddress(row) {
      const block = Math.floor(row / rowsPerBlock);
      return blocks[block]! + resultsOffset + (row - block * rowsPerBlock) * 4;
    },
    addresses(rows, into, at) {
      addressesOf(rows, { blocks, rowsPerBlock, stride, offset: 0 }, into, at);
    },
    resultAddresses(rows, into, at) {
      addressesOf(rows, { blocks, rowsPerBlock, stride: 4, offset: resultsOffset }, into, at);
    },
    *runs() {
      for (let first = 0, i = 0; first < count; first += rowsPerBlock, i += 1) {
        const address = blocks[i]!;
        yield arena.views.u8.subarray(address, address + Math.min(rowsPerBlock, count - first) * stride);
      }
    },
    blocks(visit) {
      for (let first = 0, i = 0; first < count; first += rowsPerBlock, i += 1) {
        visit(blocks[i]!, blocks[i]! + resultsOffset, Math.min(rowsPerBlock, count - first));
      }
    },
    *added(total) {
      while (count < total) {
        const first = count;
        do this.push();
        while (count < total && count % rowsPerBlock !== 0);
        const from = this.address(first);
        yield arena.views.u8.subarray(from, from + (count - first) * stride);
      }
    },
    close() {
      for (const block of blocks) arena.free(block, blockBytes);
      blocks.length = 0;
      count = 0;
    },
  };
}

/** Cells of `stride` bytes that begin at `offset` in each block. */
interface Cells {
  blocks: readonly number[];
  rowsPerBlock: number;
  stride: number;
  offset: number;
}

function addressesOf(
  rows: Uint32Array,
  { blocks, rowsPerBlock, stride, offset }: Cells,
  into: Uint32Array,
  at: number,
): void {
  // Rows that follow each other are mostly of one block.
  let first = 0;
  let end = 0;
  let base = 0;
  for (let i = 0; i < rows.length; i += 1) {
    const row = rows[i]!;
    if (row < first || row >= end) {
      const block = Math.floor(row / rowsPerBlock);
      first = block * rowsPerBlock;
      end = first + rowsPerBlock;
      base = blocks[block]! + offset - first * stride;
    }
    into[at + i] = base + row * stride;
  }
}

function blockPages(cell: number): number {
  let pages = Math.ceil(cell / pageBytes);
  while (pages < blockPagesMax && ((pages * pageBytes) % cell) / (pages * pageBytes) > wasteMax) pages += 1;
  return pages;
}
