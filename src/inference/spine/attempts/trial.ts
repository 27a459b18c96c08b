import type { Fault } from '../../../formats/neutral/outcome.ts';
import type { Usage, UsageSource } from '../../../formats/neutral/usage.ts';

/** One attempt as it runs: at an upstream or an engine, by one call or several. It ends exactly once. */
export interface Trial {
  /** Grows with every sign of life of the upstream: head, bytes. */
  readonly signs: number;
  /** A slow reader holds its stream back; absent: its silence after the first content says nothing. */
  readonly paused?: boolean;
  /**
   * Kind of its first content, which decides how long silence is usual: a stream shows signs soon. Null: silence says
   * nothing, as for models of this process and for work that takes minutes.
   */
  readonly shows: 'stream' | 'whole' | null;
  /** Null when its sink has the whole answer; otherwise the reason. Rejects only for a fault of ours. */
  run(): Promise<Fault | null>;
  /** Nobody wants it any more. A no-op after its end. */
  stop(why: Fault): void;
  /** After its end, or after `stop`. `served`: its answer is the client's. */
  seen(served: boolean, outcome: Fault | null): AttemptSeen;
}

/** Result of an attempt, for the explanation. */
export interface AttemptSeen {
  /** HTTP status of the upstream; null: none came. */
  status: number | null;
  bytes: number;
  usage: Usage | null;
  usageSource: UsageSource;
  /** True: `usage` is the upstream's count, for an attempt that served no caller. */
  reported?: true;
  /** Its results belong to the request even when another attempt makes the rest. */
  isRetained?: true;
  malformedLines?: number;
  /** Model that the answer named, and why it ended; null or absent: it did not say. */
  answeredAs?: string | null;
  finishReason?: string | null;
}
