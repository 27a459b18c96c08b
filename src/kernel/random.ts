/** Chance is given, not taken, so that a failing run replays from its seed. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
}

/** The engine's generator: to choose by, never to make secrets of. */
export const systemRandom: Random = { next: () => Math.random() };

/** Mulberry32 (Tommy Ettinger, public domain): small, fast, good enough to choose among targets in tests. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = state;
      t = Math.imul(t ^ (t >>> 15), t | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
    },
  };
}
