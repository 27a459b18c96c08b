/**
 * Work in steps of a few milliseconds at most, between which other work may run. Ended early, it gives back its memory.
 */
export type Steps<Result> = Generator<void, Result, void>;

/** Rows that a step of a search reads, each of which costs as much as a vector of some thousand components. */
export const scannedPerStep = 64;

/** Work for each of these rows, in steps. */
export function* eachInSteps(slots: Uint32Array, perStep: number, work: (slot: number) => void): Steps<void> {
  for (let i = 0; i < slots.length; i += 1) {
    if (i > 0 && i % perStep === 0) yield;
    work(slots[i]!);
  }
}

/** Results of `work` for each row, in steps. `all` is read as far as it is needed. */
export function* mappedInSteps<Row, Made>(all: Iterable<Row>, work: (row: Row) => Made): Steps<Made[]> {
  const made: Made[] = [];
  for (const row of all) {
    if (made.length > 0 && made.length % scannedPerStep === 0) yield;
    made.push(work(row));
  }
  return made;
}

/** Work for all rows in parts: `read` gives the slot that the next part begins at, null after the last one. */
export function* partsInSteps(
  perStep: number,
  read: (part: { from: number; limit: number }) => number | null,
): Steps<void> {
  for (let from: number | null = 0; ; ) {
    from = read({ from, limit: perStep });
    if (from === null) return;
    yield;
  }
}

/** All of it at once. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
