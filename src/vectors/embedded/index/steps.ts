/**
 * Work in steps of a few milliseconds at most, between which other work may run. Ended early, it gives back its memory.
 */
export type Steps<Result> = Generator<void, Result, void>;

/** All of it at once. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
