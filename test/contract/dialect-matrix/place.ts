import assert from 'node:assert/strict';
import type { Ask, Seen } from './formats.ts';
import type { Exchange, Rig } from './rig.ts';
import type { Cell, Verdict } from './verdicts.ts';

/** One cell while it is checked. */
export interface Place extends Cell {
  rig: Rig;
  verdict: Verdict;
  /** Asks over a provider that is well. */
  ask(ask: Ask, spec?: string): Promise<Exchange>;
  /** A provider that nobody else calls, for failing ones. */
  another(): (ask: Ask, spec: string) => Promise<Exchange>;
}

export type Check = (place: Place) => Promise<void>;

/** The answer, whole and cleanly ended. */
export function seenIn({ seen, status, text, clean }: Exchange): Seen {
  assert.deepEqual([status, clean], [200, true], text);
  return seen!;
}
