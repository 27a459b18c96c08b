import { randomUUID } from 'node:crypto';
import { backoffMs } from '../../kernel/backoff.ts';
import type { Clock } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import { bookedMaxMs } from '../patience.ts';
import { createTroubleReport, type TroubleReport } from '../trouble-report.ts';
import { epochKey, keysOf } from './keys.ts';
import { pulseScript } from './lua-leases.ts';
import { epochScript } from './lua-seed.ts';
import { cannotServe, errorMessage } from './redis-errors.ts';
import { evictionPolicy } from './redis-facts.ts';
import type { Script } from './script.ts';
import type { KeyServer } from './servers.ts';
import { NoReply, openWire, type Reply, type Wire } from './wire.ts';

/**
 * After an epoch begins nobody is admitted for this long. By then a hold of the epoch before is in the ledger, or
 * refused by it: the ledger's snapshots that seed the new epoch know all of them.
 */
export const epochGuardMs = bookedMaxMs + 100;

/**
 * A flush is noticed within this long, even without requests: running requests take their places again before the new
 * epoch, which waits longer than this, admits anybody.
 */
const pulseEveryMs = 200;

/** Service is to be back within 2 s of Redis, of which an epoch's guard takes most. */
const retryPauses = { firstMs: 50, maxMs: 200 };

const otherEpoch = 2;

/** `unsent`: nothing was done. `unknown`: it may have been done. */
export type Answer = readonly Reply[] | 'unsent' | 'unknown';

export interface LinkOptions {
  server: KeyServer;
  /** Names the books that are counted for. */
  booksId: string;
  clock: Clock;
  /** Replaces the server's time, for tests. */
  nowMs?: () => number;
  /** Scripts that will be run. */
  scripts: readonly Script[];
  /** For the operator's log. */
  onTrouble: (message: string, level?: 'info') => void;
  /** Called before a new epoch is used, to give it what it must know. Rejecting drops the connection. */
  beforeEpoch: (run: Run) => Promise<void>;
  /** Admission is possible again. */
  onReady: () => void;
}

/** `keys` and `args` without the epoch, which is always the first of both, and the time, which is the second argument. */
export type Run = (script: Script, keys: readonly string[], args: readonly string[]) => Promise<Answer>;

/** The way to the Redis server that has the keys, kept up for ever: nothing is sent over it before its epoch is known. */
export class Link {
  readonly #options: LinkOptions;
  readonly #ours: string;
  #wire: Wire | null = null;
  #state: 'lost' | 'verifying' | 'ready' | 'closed' = 'lost';
  #epoch = '';
  /** Counts verifications: what an older one comes to is of no meaning. */
  #round = 0;
  #distrusted = false;
  #trouble: string | null = 'Redis is not connected yet';
  /** The same as `trouble`, without faults that heal in a moment: for the log. */
  #loss: string | null = null;
  /** The last refusal of a single command, and the last policy that was warned of: each is reported once. */
  #complaint = '';
  #warnedPolicy = '';
  #losses = 0;
  #timer: NodeJS.Timeout | null = null;
  #waiters: (() => void)[] = [];
  readonly #report: TroubleReport;
  readonly #stopPulse: () => void;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#ours = keysOf(options.booksId, options.server.tag);
    this.#report = createTroubleReport({
      trouble: () => this.#loss,
      words: {
        begins: (text) => `redis: nothing can be admitted: ${text}`,
        over: 'redis: the counters can be asked again',
      },
      report: options.onTrouble,
      clock: options.clock,
    });
    this.#stopPulse = every(pulseEveryMs, () => this.#beat());
    void this.#connect();
  }

  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<Answer> {
    const wire = this.#wire;
    if (wire === null || this.#state !== 'ready' || wire.slow()) return Promise.resolve('unsent');
    return this.#runOn(wire, script, keys, args);
  }

  ready(): boolean {
    return this.#state === 'ready' && this.#wire?.slow() === false;
  }

  /** No server answers at all; false while one does, though it may not admit yet. */
  lost(): boolean {
    return this.#state === 'lost' || this.#wire?.slow() === true;
  }

  trouble(): string | null {
    return this.#wire?.slow() ? 'Redis does not answer in time' : this.#trouble;
  }

  /** Something was spent that Redis does not know: at the next chance a new epoch begins, whatever it says. */
  distrust(): void {
    this.#distrusted = true;
  }

  /** Resolves when it is first ready. */
  whenReady(): Promise<void> {
    return this.#state === 'ready' ? Promise.resolve() : new Promise((resolve) => this.#waiters.push(resolve));
  }

  close(): void {
    this.#state = 'closed';
    this.#stopPulse();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#wire?.destroy();
    this.#wire = null;
  }

  #beat(): void {
    // Trouble that was not reported because it had only just begun again.
    this.#report.look();
    const wire = this.#wire;
    if (wire !== null && this.#state === 'ready' && !wire.slow()) void this.#runOn(wire, pulseScript, [], []);
  }

  #reportTrouble(text: string | null): void {
    this.#trouble = text;
    this.#loss = text;
    this.#report.look();
  }

  #later(ms: number, what: () => void): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      what();
    }, ms);
    this.#timer.unref();
  }

  #lose(reason: string): void {
    if (this.#state === 'closed') return;
    this.#wire?.destroy();
    this.#wire = null;
    this.#state = 'lost';
    this.#reportTrouble(`Redis is lost: ${reason}`);
    this.#later(backoffMs(++this.#losses, retryPauses), () => void this.#connect());
  }

  async #connect(): Promise<void> {
    try {
      const { server, clock } = this.#options;
      const opened: Wire = await openWire(await server.url(), clock, {
        onOver: (reason) => {
          if (this.#wire === opened) this.#lose(reason);
        },
        onFlowing: () => {
          if (this.#wire === opened && this.#distrusted && this.#state === 'ready') void this.#verify(opened);
        },
      });
      if (this.#state === 'closed') return opened.destroy();
      this.#wire = opened;
      await this.#warnOfEviction(opened);
      await this.#loadScripts(opened);
      if (this.#wire === opened) await this.#verify(opened);
    } catch (error) {
      this.#lose(errorMessage(error));
    }
  }

  /** If a script were sent again because Redis does not know it, later commands would run before it. */
  async #loadScripts(on: Wire): Promise<void> {
    const { scripts } = this.#options;
    const there = (await on.send(['SCRIPT', 'EXISTS', ...scripts.map(({ sha }) => sha)])) as readonly number[];
    const missing = scripts.filter((_, at) => there[at] !== 1);
    await Promise.all(missing.map(({ text }) => on.send(['SCRIPT', 'LOAD', text])));
  }

  /** Finds out which epoch is in force, and waits until it may be used. */
  async #verify(on: Wire): Promise<void> {
    this.#round += 1;
    const mine = this.#round;
    this.#state = 'verifying';
    this.#trouble = 'the counters begin anew';
    try {
      const info = String(await on.send(['INFO', 'server']));
      const runId = /^run_id:(\S+)/m.exec(info)?.[1];
      if (runId === undefined) throw new Error('INFO does not tell its run_id');
      if (this.#options.server.tag === null && /^redis_mode:cluster/m.test(info))
        throw new Error(
          "it is a server of Redis Cluster; write redis+cluster:// or rediss+cluster:// in 'storage.state'",
        );
      const renew = this.#distrusted;
      this.#distrusted = false;
      const command = ['EVAL', epochScript.text, '1', this.#ours + epochKey, runId, randomUUID(), renew ? '*' : ''];
      const [current, ageMs] = (await on.send(command).catch((error: unknown) => {
        this.#distrusted ||= renew;
        throw error;
      })) as [string, number];
      if (this.#wire !== on || this.#round !== mine) return;
      this.#epoch = current;
      // At once, not when the wait is over: others may have found the epoch earlier, and admit as soon as it is.
      await this.#options.beforeEpoch((script, keys, args) => this.#runOn(on, script, keys, args));
      if (this.#wire !== on || this.#round !== mine) return;
      const waitMs = Math.min(epochGuardMs, epochGuardMs - Math.max(0, ageMs));
      if (waitMs > 0) this.#later(waitMs, () => this.#begin(on, mine));
      else this.#begin(on, mine);
    } catch (error) {
      if (this.#wire === on && this.#round === mine) this.#lose(errorMessage(error));
    }
  }

  #begin(on: Wire, mine: number): void {
    // Meanwhile it was lost, or another epoch began.
    if (this.#wire !== on || this.#round !== mine) return;
    this.#state = 'ready';
    this.#losses = 0;
    this.#reportTrouble(null);
    const wake = this.#waiters;
    this.#waiters = [];
    for (const one of wake) one();
    this.#options.onReady();
  }

  async #runOn(on: Wire, script: Script, keys: readonly string[], args: readonly string[]): Promise<Answer> {
    const sentIn = this.#round;
    const rest = [
      String(keys.length + 1),
      this.#ours + epochKey,
      ...keys.map((key) => this.#ours + key),
      this.#epoch,
      this.#options.nowMs === undefined ? '' : String(this.#options.nowMs()),
      ...args,
    ];
    try {
      let reply: Reply;
      try {
        reply = await on.send(['EVALSHA', script.sha, ...rest]);
      } catch (error) {
        if (error instanceof NoReply || !errorMessage(error).startsWith('NOSCRIPT')) throw error;
        reply = await on.send(['EVAL', script.text, ...rest]);
      }
      const answer = reply as readonly Reply[];
      if (answer[0] !== otherEpoch) return answer;
      if (this.#wire === on && this.#round === sentIn) void this.#verify(on);
      return 'unsent';
    } catch (error) {
      if (error instanceof NoReply) return error.sent ? 'unknown' : 'unsent';
      const words = errorMessage(error);
      if (this.#wire === on && cannotServe(words)) this.#lose(words);
      else if (words !== this.#complaint) {
        this.#complaint = words;
        this.#options.onTrouble(`redis: a command was refused: ${words}`);
      }
      return 'unknown';
    }
  }

  async #warnOfEviction(on: Wire): Promise<void> {
    const policy = await evictionPolicy(on);
    if (policy === null || policy === this.#warnedPolicy) return;
    this.#warnedPolicy = policy;
    if (policy !== 'noeviction')
      this.#options.onTrouble(
        `redis: maxmemory-policy is ${policy}; set noeviction, or counts may be dropped and reseeded`,
      );
  }
}
