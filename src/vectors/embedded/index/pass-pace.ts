import type { RowPass } from './row-pass.ts';

/** The way that was slower of late is tried once in so many passes. */
const triedEvery = 16;
/** How much of an average the last pass is. */
const lastShare = 1 / 4;

/** Milliseconds a byte, on average; null: never done so. */
interface Pace {
  alone: number | null;
  together: number | null;
  passes: number;
}

/**
 * Decides whether threads help with a pass, by which way was quicker of late: other processes may have the cores, and then
 * a thread with a share is waited for longer than it saves.
 */
export class PassPace {
  readonly #paces = new Map<RowPass['kernel'], Pace>();

  isTogether(kernel: RowPass['kernel']): boolean {
    const { alone, together, passes } = this.#of(kernel);
    if (alone === null || together === null) return alone !== null;
    const isQuicker = together < alone;
    return passes % triedEvery === 0 ? !isQuicker : isQuicker;
  }

  /** A pass over so many bytes took `ms`. */
  took(kernel: RowPass['kernel'], way: 'alone' | 'together', { bytes, ms }: { bytes: number; ms: number }): void {
    const pace = this.#of(kernel);
    const before = pace[way] ?? ms / bytes;
    pace[way] = before + (ms / bytes - before) * lastShare;
    pace.passes += 1;
  }

  #of(kernel: RowPass['kernel']): Pace {
    const known = this.#paces.get(kernel);
    if (known !== undefined) return known;
    const pace = { alone: null, together: null, passes: 0 };
    this.#paces.set(kernel, pace);
    return pace;
  }
}
