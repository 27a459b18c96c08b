import type { Fault } from '../neutral/outcome.ts';
import type { Usage, UsageSource } from '../neutral/usage.ts';

/** One attempt as it runs: at an upstream or an engine, by one call or several. It ends exactly once. */
export interface Trial {
  /** Grows with every sign of life of the upstream: head, bytes. */
  readonly signs: number;
  /**
   * What it should show, and so how long silence is usual: a stream shows its first signs soon. Null: silence says
   * nothing, as of what runs in this process or takes minutes to make.
   */
  readonly shows: 'stream' | 'whole' | null;
  /** Null when its sink has the whole answer; otherwise why not. Rejects for a fault of ours alone. */
  run(): Promise<Fault | null>;
  /** It is wanted no more. A no-op after its end. */
  stop(why: Fault): void;
  /** After its end, or after `stop`. `served`: its answer is the client's. */
  seen(served: boolean, outcome: Fault | null): AttemptSeen;
}

/** What an attempt came to, as the explanation tells it. */
export interface AttemptSeen {
  /** HTTP status of the upstream; null: none came. */
  status: number | null;
  bytes: number;
  usage: Usage | null;
  usageSource: UsageSource;
  /** `usage` is the upstream's own count, of an attempt that served nobody. */
  told?: true;
  /** What it made is the request's even if another attempt makes the rest. */
  kept?: true;
  malformedLines?: number;
  /** What the answer called itself, and why it ended; null or absent: it did not say. */
  answeredAs?: string | null;
  finishReason?: string | null;
}
