import type { KeyPath } from '../filter/key-path.ts';

/** A part of a collection's memory: the index of a vector, by its name, or columns of these keys. */
export type MemoryPart = { kind: 'index'; vector: string } | { kind: 'columns'; keys: readonly KeyPath[] };

/** It is not there, and making it takes so long that others must come in between. */
export class PartMissing extends Error {
  readonly part: MemoryPart;

  constructor(part: MemoryPart) {
    super(`the ${part.kind} must be made`);
    this.part = part;
  }
}
