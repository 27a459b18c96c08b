/**
 * Numbers of a collection's rows, dense from 0; freed ones are used again. `undo` puts back the changes of a call that
 * is rolled back; `mark` opens a call or a group of them, which comes before the first change, `keep` forgets how to undo.
 */
export type Slots = ReturnType<typeof createSlots>;

type Step = 'next' | 'reused' | 'given';

/**
 * `used`: ascending slots there are, given only where there are gaps; else they are 0 to `next` − 1. Asked for at the
 * first `mark`, so that nobody who only reads waits for it.
 */
export function createSlots(next: number, used: (() => Iterable<number>) | null) {
  let free: number[] = [];
  let unread = used;
  const steps: { step: Step; slot: number }[] = [];
  return {
    take(): number {
      const reused = free.pop();
      const slot = reused ?? next++;
      steps.push({ step: reused === undefined ? 'next' : 'reused', slot });
      return slot;
    },
    give(slot: number): void {
      free.push(slot);
      steps.push({ step: 'given', slot });
    },
    mark(): number {
      if (unread !== null) free = gapsIn(unread()).reverse();
      unread = null;
      return steps.length;
    },
    undo(mark: number): void {
      for (const { step, slot } of steps.splice(mark).reverse()) {
        if (step === 'next') next--;
        else if (step === 'reused') free.push(slot);
        else free.pop();
      }
    },
    keep(): void {
      steps.length = 0;
    },
  };
}

function gapsIn(used: Iterable<number>): number[] {
  const gaps: number[] = [];
  let expected = 0;
  for (const slot of used) {
    while (expected < slot) gaps.push(expected++);
    expected = slot + 1;
  }
  return gaps;
}
