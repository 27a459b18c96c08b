/** Work in steps of some milliseconds at most, between which others may come. Ended early, it gives back what it has taken. */
export type Steps<Result> = Generator<void, Result, void>;

/** All of it at once. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
