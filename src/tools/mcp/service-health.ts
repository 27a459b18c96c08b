import { backoffMs } from '../../kernel/backoff.ts';
import type { Clock } from '../../kernel/clock.ts';
import { McpFault } from './mcp-fault.ts';

/** The state of a service elsewhere, as the last look found it. */
export type Standing =
  | { at: 'unknown' }
  | { at: 'up'; checkedMs: number }
  /** It is not asked before `againMs`. Both on the monotonic clock. */
  | { at: 'down'; why: McpFault; failures: number; checkedMs: number; againMs: number };

export interface LooksParts {
  /** Asks it for what it offers. Null: all went well. */
  ask(): Promise<McpFault | null>;
  clock: Clock;
  /** For the operator's log: it went down, or is up again. */
  onTurn(standing: Standing): void;
}

const lookEveryMs = 60_000;
export const firstAgainMs = 1_000;
/** Until a service that is down is asked again. */
const againPauses = { firstMs: firstAgainMs, maxMs: lookEveryMs };
/** Nobody is asked over the network meanwhile: a look sees a login at any replica. */
const loginLookMs = 1_000;

/** The health check of an MCP server or an agent: it is asked again and again for what it offers. */
export class Looks {
  standing: Standing = { at: 'unknown' };
  readonly #parts: LooksParts;
  #looking: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #state: 'open' | 'closed' = 'open';

  constructor(parts: LooksParts) {
    this.#parts = parts;
  }

  /** Asks now; the next look follows at its time. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  /** The same after a change: a look that runs already may not have seen it. */
  async lookAnew(): Promise<void> {
    await this.#looking;
    await this.look();
  }

  /** Why it is not asked now; null: it is. */
  resting(): McpFault | null {
    const { standing } = this;
    const nowMs = this.#parts.clock.monotonicMs();
    // A login meanwhile is known without asking the server.
    if (standing.at !== 'down' || standing.why.reason === 'needs-login' || nowMs >= standing.againMs) return null;
    return new McpFault('resting', `is down (${standing.why.message})`, standing.againMs - nowMs);
  }

  stop(): void {
    this.#state = 'closed';
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    clearTimeout(this.#timer);
    const fault = await this.#parts.ask();
    if (this.#state === 'closed') return;
    const nowMs = this.#parts.clock.monotonicMs();
    const before = this.standing;
    let nextMs = lookEveryMs;
    if (fault === null) this.standing = { at: 'up', checkedMs: nowMs };
    else {
      const failures = before.at === 'down' ? before.failures + 1 : 1;
      nextMs = fault.reason === 'needs-login' ? loginLookMs : backoffMs(failures, againPauses);
      this.standing = { at: 'down', why: fault, failures, checkedMs: nowMs, againMs: nowMs + nextMs };
    }
    if (before.at !== this.standing.at) this.#parts.onTurn(this.standing);
    this.#timer = setTimeout(() => void this.look(), nextMs);
    this.#timer.unref();
  }
}
