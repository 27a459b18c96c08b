import type { Notice } from './notice-store.ts';

/** The port of alerts: what is wrong, and what of it was told, by all processes together. Drivers as of notices. */
export interface AlertStore {
  /**
   * Reads all rows and writes what `step` makes of them, with its notices, in one commit that no other process comes
   * between. Resolves to how many notices were queued.
   */
  change(step: (rows: readonly AlertRow[]) => AlertStep): Promise<number>;
}

export interface AlertStep {
  write: readonly AlertRow[];
  forget: readonly string[];
  notices: readonly Notice[];
}

/** Times are wall-clock ms. */
export interface AlertRow {
  name: string;
  /** `none`: it is over. */
  severity: 'none' | 'warning' | 'problem';
  text: string;
  fix: string | null;
  sinceMs: number;
  /** When any process saw it last. */
  seenMs: number;
  /** As what it was told since it began; `none`: it was not. */
  told: 'none' | 'warning' | 'problem';
  /** When it was told last, before it began too; null: never. */
  toldMs: number | null;
}
