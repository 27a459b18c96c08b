import { both, either, type SlotSet, without } from './slot-set.ts';

/**
 * Columns' answer to a condition: rows that pass, and rows that may (those that pass among them). The same set twice
 * when nothing is open.
 */
export interface Verdict {
  sure: SlotSet;
  possible: SlotSet;
}

export function exactly(set: SlotSet): Verdict {
  return { sure: set, possible: set };
}

export function isExact(verdict: Verdict): boolean {
  return verdict.sure === verdict.possible;
}

export function bothHold(a: Verdict, b: Verdict): Verdict {
  const certain = both(a.sure, b.sure);
  return { sure: certain, possible: isExact(a) && isExact(b) ? certain : both(a.possible, b.possible) };
}

export function oneHolds(a: Verdict, b: Verdict): Verdict {
  const certain = either(a.sure, b.sure);
  return { sure: certain, possible: isExact(a) && isExact(b) ? certain : either(a.possible, b.possible) };
}

/** Rows of `live` of which it does not hold. */
export function opposite(verdict: Verdict, live: SlotSet): Verdict {
  const certain = without(live, verdict.possible);
  return { sure: certain, possible: isExact(verdict) ? certain : without(live, verdict.sure) };
}

/** Rows of which at least `count` hold. */
export function countHold(verdicts: readonly Verdict[], count: number, live: SlotSet): Verdict {
  if (count === 0) return exactly(live);
  const certain = atLeast(
    verdicts.map((verdict) => verdict.sure),
    count,
    live.length,
  );
  if (verdicts.every(isExact)) return exactly(certain);
  return {
    sure: certain,
    possible: atLeast(
      verdicts.map((verdict) => verdict.possible),
      count,
      live.length,
    ),
  };
}

function atLeast(sets: readonly SlotSet[], count: number, words: number): SlotSet {
  const out = new Uint32Array(words);
  const held = new Uint16Array(32);
  for (let word = 0; word < words; word++) {
    held.fill(0);
    for (const set of sets) {
      for (let bits = set[word]!; bits !== 0; bits &= bits - 1) held[31 - Math.clz32(bits & -bits)]!++;
    }
    let bits = 0;
    for (let i = 0; i < 32; i++) if (held[i]! >= count) bits |= 1 << i;
    out[word] = bits;
  }
  return out;
}
