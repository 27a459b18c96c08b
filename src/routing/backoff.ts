import type { Random } from '../kernel/random.ts';

const firstMs = 100;
const capMs = 2_000;

/** Pause before a target is asked again: 100 ms doubling to 2 s, of which a random half to whole is waited. */
export function backoffMs(repeats: number, random: Random): number {
  const wholeMs = Math.min(capMs, firstMs * 2 ** repeats);
  return Math.round(wholeMs * (0.5 + random.next() / 2));
}
