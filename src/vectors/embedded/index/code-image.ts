import type { Steps } from './resumable-steps.ts';

/** Parts of an image, in this order. An image without bits has codes alone; columns have their own image. */
export type ImagePart = 'bits' | 'codes' | 'columns';

/**
 * Rows of codes and of their bits as they lie in memory, or columns, so that they can be kept in a file and taken up again
 * instead of being made of all points.
 */
export interface CodeImage {
  readonly count: number;
  readonly bytes: number;
  /**
   * Result of the trial of the bits (`BitTrial.keep`); undefined: it has not ended. A number: the image has bits. For
   * columns: which they are.
   */
  readonly keep: number | null | undefined;
  /** False once the rows have changed, or are gone. */
  isCurrent(): boolean;
  /** The bytes of each part, one run of memory after the other: views, good for the turn that asks for them. */
  parts(): Iterable<{ part: ImagePart; runs: Iterable<Uint8Array> }>;
}

/** Bytes that one step reads, in less than a millisecond. */
const bytesPerStep = 1024 * 1024;

/** Fills runs of memory with what comes next in a kept image. `filled` is called after each. */
export function* fillRuns(
  image: SavedImage,
  runs: Iterable<Uint8Array>,
  filled = (_run: Uint8Array) => {},
): Steps<void> {
  let bytes = 0;
  for (const run of runs) {
    image.read(run);
    filled(run);
    bytes += run.length;
    if (bytes < bytesPerStep) continue;
    bytes = 0;
    yield;
  }
}

/** One that was kept. */
export interface SavedImage extends Pick<CodeImage, 'count' | 'bytes' | 'keep'> {
  /** Goes to the beginning of a part. Throws `ImageUnusable` unless it has this many bytes. */
  begin(part: ImagePart, bytes: number): void;
  /** Fills `into` with the bytes that come next. Throws `ImageUnusable`. */
  read(into: Uint8Array): void;
  /** Call it after the last byte of a part. Throws `ImageUnusable` when its bytes differ from the written ones. */
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
