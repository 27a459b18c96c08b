/** Count of events within a window that began with the first of them. */
export interface Tallied {
  count: number;
  /** Until the window is over; 0 when nothing is counted. */
  leftMs: number;
}

/**
 * Counts by name that all processes share and that charge no caller, such as failed logins. Never rejects: null if the
 * store does not answer, and then each process uses its local counts.
 */
export interface SharedTally {
  /** In the order of the names. */
  read(names: readonly string[]): Promise<readonly Tallied[] | null>;
  /** One more of each; `windowMs` from the first on. */
  add(names: readonly string[], windowMs: number): Promise<readonly Tallied[] | null>;
}
