import type { McpServerConfig } from '../../config/schema.ts';
import type { Clock } from '../../kernel/clock.ts';
import { McpFault, type McpFaultReason } from './mcp-fault.ts';
import { isOffered, type Offered } from './offered.ts';
import { firstAgainMs, Looks, type Standing } from './service-health.ts';
import type { CallBounds, McpSession } from './session.ts';

export interface UpstreamParts {
  name: string;
  config: McpServerConfig;
  open(bounds: CallBounds): Promise<McpSession | McpFault>;
  /** Ends what its sessions share. */
  release(): Promise<void>;
  /** Concurrent sessions, the gateway's own aside. */
  sessionsMax: number;
  clock: Clock;
  /** For the operator's log: it went down, or is up again. */
  onTurn(standing: Standing): void;
}

const lookTimeoutMs = 15_000;
const nothing: Offered = { instructions: null, tools: [], prompts: [], resources: [], templates: [] };
/** A session that nobody uses is closed. */
const idleMs = 10 * 60_000;

const recheckedReasons: ReadonlySet<McpFaultReason> = new Set(['unreachable', 'unauthorized', 'needs-login']);

const lostReasons: ReadonlySet<McpFaultReason> = new Set(['session-lost', 'bad-request']);
const pingTimeoutMs = 5_000;

/** Whether the server forgot the session. Many answer 400 then, where MCP has 404, and so does a ping. */
async function isLost({ reason }: McpFault, session: McpSession, bounds: CallBounds): Promise<boolean> {
  if (reason !== 'bad-request') return reason === 'session-lost';
  const fault = await session.ping({ ...bounds, timeoutMs: Math.min(bounds.timeoutMs, pingTimeoutMs) });
  return fault !== null && lostReasons.has(fault.reason);
}

interface Held {
  opening: Promise<McpSession | McpFault>;
  /** Once it is open. */
  session: McpSession | null;
  calls: number;
  usedMs: number;
}

/**
 * One MCP server of the configuration. Each tenant has its own session, for HTTP as for a program, so that no tenant
 * sees what another's calls left behind, or waits for them. The gateway's own session asks for the lists: that is
 * the health check.
 */
export class UpstreamServer {
  readonly name: string;
  readonly config: McpServerConfig;
  /** The lists of the last look that went well. */
  offered: Offered = nothing;
  readonly #parts: UpstreamParts;
  readonly #looks: Looks;
  readonly #tenants = new Map<string, Held>();
  #session: McpSession | null = null;
  #state: 'open' | 'closed' = 'open';

  constructor(parts: UpstreamParts) {
    this.name = parts.name;
    this.config = parts.config;
    this.#parts = parts;
    this.#looks = new Looks({ ...parts, ask: () => this.#askLists() });
  }

  get standing(): Standing {
    return this.#looks.standing;
  }

  /** Tools that the configuration does not offer, by their own names. */
  get hidden(): string[] {
    return this.offered.tools.flatMap(({ name }) => (isOffered(this.config, name) ? [] : [name]));
  }

  /** Why nobody knows what it offers; null: it has said so. */
  get unlisted(): McpFault | null {
    if (this.offered !== nothing) return null;
    const { standing } = this;
    if (standing.at === 'down') return this.#looks.resting() ?? standing.why;
    return new McpFault('unreachable', 'has not said yet what it offers');
  }

  get sessions(): number {
    return this.#tenants.size;
  }

  /** A program may have to be downloaded first, as npx and uvx do. */
  get #openTimeoutMs(): number {
    const { command, timeout } = this.config;
    return command === undefined ? lookTimeoutMs : Math.max(lookTimeoutMs, timeout);
  }

  /** Asks for its lists now; the next look follows at its time. */
  look(): Promise<void> {
    return this.#looks.look();
  }

  /** The same after a change: a look that runs already may not have seen it. */
  lookAnew(): Promise<void> {
    return this.#looks.lookAnew();
  }

  /** For a name that its lists lack: it may be new. Asks once a second at most. */
  async lookForNew(): Promise<void> {
    const { standing } = this;
    if (standing.at === 'up' && this.#parts.clock.monotonicMs() - standing.checkedMs >= firstAgainMs) await this.look();
  }

  /** Does one request in the session of a tenant. */
  async ask<T extends object>(
    tenant: string,
    work: (session: McpSession, bounds: CallBounds) => Promise<T | McpFault>,
    signal: AbortSignal,
  ): Promise<T | McpFault> {
    const resting = this.#looks.resting();
    if (resting !== null) return resting;
    const endMs = this.#parts.clock.monotonicMs() + this.config.timeout;
    for (let tries = 1; ; tries++) {
      const held = this.#hold(tenant);
      if (held instanceof McpFault) return held;
      held.calls += 1;
      try {
        const session = await held.opening;
        if (session instanceof McpFault) {
          void this.look();
          return session;
        }
        const timeoutMs = Math.max(1, endMs - this.#parts.clock.monotonicMs());
        const done = await work(session, { timeoutMs, signal });
        if (!(done instanceof McpFault)) return done;
        if (await isLost(done, session, { timeoutMs, signal })) {
          this.#drop(tenant, held);
          // It did nothing: it did not know the session.
          if (tries === 1) continue;
        }
        // Our own look decides: a tenant's trouble does not take the server from others.
        if (recheckedReasons.has(done.reason)) void this.look();
        return done;
      } finally {
        held.calls -= 1;
        held.usedMs = this.#parts.clock.monotonicMs();
      }
    }
  }

  /** Ends running calls. */
  async close(): Promise<void> {
    this.#state = 'closed';
    this.#looks.stop();
    const sessions = [this.#session, ...[...this.#tenants.values()].map(({ session }) => session)];
    this.#session = null;
    this.#tenants.clear();
    await Promise.all(sessions.map((session) => session?.close()));
    await this.#parts.release();
  }

  async #askLists(): Promise<McpFault | null> {
    const found = await this.#listsInSession();
    if (this.#state === 'closed') return null;
    this.#closeIdle(this.#parts.clock.monotonicMs());
    if (found instanceof McpFault) return found;
    this.offered = found;
    return null;
  }

  /** A server that was started again knows no session of before: it is asked in a new one. */
  async #listsInSession(): Promise<Offered | McpFault> {
    const lists = await this.#listsOnce();
    return lists instanceof McpFault && lostReasons.has(lists.reason) ? this.#listsOnce() : lists;
  }

  async #listsOnce(): Promise<Offered | McpFault> {
    const bounds = { timeoutMs: lookTimeoutMs };
    if (this.#session?.isOpen() !== true) {
      const opened = await this.#parts.open({ timeoutMs: this.#openTimeoutMs });
      if (opened instanceof McpFault) return opened;
      if (this.#state === 'closed') {
        await opened.close();
        return new McpFault('aborted', 'was closed meanwhile');
      }
      this.#session = opened;
    }
    const lists = await this.#session.lists(bounds);
    if (lists instanceof McpFault) {
      const session = this.#session;
      this.#session = null;
      await session?.close();
    }
    return lists;
  }

  #hold(tenant: string): Held | McpFault {
    const known = this.#tenants.get(tenant);
    if (known !== undefined && (known.session === null || known.session.isOpen())) return known;
    if (known !== undefined) this.#drop(tenant, known);
    if (this.#tenants.size >= this.#parts.sessionsMax && !this.#closeLongestIdle()) {
      const message = `has as many sessions as it may have, ${this.#parts.sessionsMax}, and all of them are at work`;
      return new McpFault('busy', message, firstAgainMs);
    }
    const held: Held = {
      opening: this.#parts.open({ timeoutMs: Math.min(this.config.timeout, this.#openTimeoutMs) }),
      session: null,
      calls: 0,
      usedMs: this.#parts.clock.monotonicMs(),
    };
    this.#tenants.set(tenant, held);
    held.opening.then((session) => {
      if (session instanceof McpFault) this.#drop(tenant, held);
      else if (this.#tenants.get(tenant) === held) held.session = session;
      else void session.close();
    });
    return held;
  }

  #drop(tenant: string, held: Held): void {
    if (this.#tenants.get(tenant) === held) this.#tenants.delete(tenant);
    void held.session?.close();
  }

  #closeIdle(nowMs: number): void {
    for (const [tenant, held] of this.#tenants) {
      if (held.calls === 0 && nowMs - held.usedMs >= idleMs) this.#drop(tenant, held);
    }
  }

  /** False: all are at work. */
  #closeLongestIdle(): boolean {
    const idle = [...this.#tenants].filter(([, { calls }]) => calls === 0);
    const [longest] = idle.sort(([, a], [, b]) => a.usedMs - b.usedMs);
    if (longest === undefined) return false;
    this.#drop(...longest);
    return true;
  }
}
