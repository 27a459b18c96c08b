import type { Notice } from './notice-store.ts';

/** The port of alerts: present problems, and which of them were reported, for all processes together. */
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
  /** Time when any process saw it last. */
  seenMs: number;
  /** State that was reported since it began; `none`: none was. */
  reported: 'none' | 'warning' | 'problem';
  /** Time when it was reported last, also before it began; null: never. */
  reportedMs: number | null;
}
