/** How often something happened within a window that began with the first of it. */
export interface Tallied {
  count: number;
  /** Until the window is over; 0 where nothing is counted. */
  leftMs: number;
}

/**
 * Counts by name that all processes share and that nobody is charged by, such as logins that failed. Never rejects: null
 * where nobody can be asked, and then each process goes by what it has counted itself.
 */
export interface SharedTally {
  /** In the order of the names. */
  read(names: readonly string[]): Promise<readonly Tallied[] | null>;
  /** One more of each; `windowMs` from the first on. */
  add(names: readonly string[], windowMs: number): Promise<readonly Tallied[] | null>;
}
