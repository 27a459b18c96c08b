/** Responses that run in a process, as the other processes of its server ask for them. */
export interface NamedRuns {
  /** Frames above number `after`, the first ones of those that are there; none: it does not run here. */
  framesOfRun(tenant: string, id: string, after: number): Promise<readonly string[]>;
  /** Resolves when it has ended, or at once where it does not run here. */
  cancelRun(tenant: string, id: string): Promise<void>;
}

/** Offers the runs of this process to the other ones of its server, and returns how to ask them. */
export type ShareRuns = (runs: NamedRuns) => NamedRuns;
