/**
 * Rows of codes as they lie in memory, so that they can be kept in a file and taken up again instead of being made of all
 * vectors.
 */
export interface CodeImage {
  readonly count: number;
  /** Bytes of a row. */
  readonly stride: number;
  /** What the trial of the bits has shown (`BitTrial.keep`); undefined: it has not ended. */
  readonly keep: number | null | undefined;
  /** False once the rows have changed, or are gone. */
  isCurrent(): boolean;
  /** Rows that follow each other in memory from `row` on: a view, good for this turn. */
  run(row: number): Uint8Array;
}

/** One that was kept. */
export interface KeptImage extends Pick<CodeImage, 'count' | 'stride' | 'keep'> {
  /** Call it before the first byte, each time. */
  begin(): void;
  /** Fills `into` with the bytes that come next. Throws `ImageUnusable`. */
  read(into: Uint8Array): void;
  /** Call it after the last byte. Throws `ImageUnusable` when the bytes differ from the written ones. */
  end(): void;
  close(): void;
}

/** The codes are made of the vectors then. */
export class ImageUnusable extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'ImageUnusable';
  }
}
