/** Facts that a process of Culvert tells of itself, for operators. */
export interface ProcessFacts {
  /** Names its server: the workers of one server have the same. */
  replica: string;
  /** Null: the only process of its server. */
  worker: number | null;
  host: string;
  pid: number;
  version: string;
  startedMs: number;
  /** Equal where the configuration in force and the secrets are. */
  configuration: string;
  state: 'serving' | 'draining';
  /** Stored entries that it cannot open, since another secret sealed them; absent: a version that does not tell. */
  unopened?: number;
  /** Requests whose handlers run. */
  requests: number;
  /** Share of the time since it was last asked that its loop was busy, 0 to 1. */
  busy: number;
  /** Duration of one turn of its loop. */
  loopDelayMs: number;
  memoryBytes: number;
}

/** A process, as another one knows it. */
export interface SeenProcess {
  id: string;
  /** Null: it has reported nothing yet, or is of a version that does not. */
  facts: ProcessFacts | null;
  /** Wall clock of its last heartbeat. */
  seenMs: number;
  /** True if it has ended, or was silent for so long that it counts as ended. */
  over: boolean;
}

/** Processes that share these books. */
export interface Replicas {
  /** From now on the heartbeat of this process tells `facts`. */
  report(facts: () => Promise<ProcessFacts>): void;
  /** Processes that live, and those that ended within `goneShownMs`. May reject. */
  seen(): Promise<readonly SeenProcess[]>;
}
