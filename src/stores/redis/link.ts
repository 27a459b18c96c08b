import { randomUUID } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import { ownLagMaxMs } from '../../kernel/loop-clock.ts';
import { createTroubleReport } from '../trouble-report.ts';
import { evictionPolicy } from './facts.ts';
import { epochKey, keysOf } from './keys.ts';
import { pulseScript } from './lua-leases.ts';
import { epochScript } from './lua-seed.ts';
import { cannotServe, wordsOf } from './refusal.ts';
import type { Script } from './script.ts';
import { NoReply, openWire, type Reply, type Wire } from './wire.ts';

/**
 * After an epoch begins nobody is admitted for so long: a hold of the epoch before is answered within 250 ms and what our
 * loop may add, and is in the ledger, or refused by it, as long again later. The ledger's snapshots that seed the new
 * epoch then know all of them.
 */
export const epochGuardMs = 600 + 2 * ownLagMaxMs;

/**
 * Though nobody asks anything, a flush is noticed within this long: running requests take their places again before the
 * new epoch, which waits longer than this, lets anybody in.
 */
const pulseEveryMs = 200;

const retryFirstMs = 50;
const retryMaxMs = 1_000;

const otherEpoch = 2;

/** `unsent`: nothing was done. `unknown`: it may have been done. */
export type Answer = readonly Reply[] | 'unsent' | 'unknown';

export interface LinkOptions {
  url: string;
  /** Names the books that are counted for. */
  booksId: string;
  clock: Clock;
  /** In place of the server's time, for tests. */
  nowMs?: () => number;
  /** Those that will be run. */
  scripts: readonly Script[];
  /** For the operator's log. */
  onTrouble: (message: string) => void;
  /** An epoch that is another than before is about to be used; what it must know first. Rejecting drops the connection. */
  beforeEpoch: (run: Run) => Promise<void>;
  /** Admission is possible again. */
  onReady: () => void;
}

/** `keys` and `args` without the epoch, which is always the first of both, and the time, which is the second argument. */
export type Run = (script: Script, keys: readonly string[], args: readonly string[]) => Promise<Answer>;

/** The way to one Redis server, kept up for ever: nothing is sent over it before its epoch is known. */
export interface Link {
  run: Run;
  ready(): boolean;
  /** No server answers at all; false while one does, though it may not admit yet. */
  lost(): boolean;
  trouble(): string | null;
  /** Something was spent that Redis does not know: at the next chance a new epoch begins, whatever it says. */
  distrust(): void;
  /** Resolves when it is first ready. */
  whenReady(): Promise<void>;
  close(): void;
}

export function createLink(options: LinkOptions): Link {
  const { url, clock, onTrouble } = options;
  const ours = keysOf(options.booksId);
  let wire: Wire | null = null;
  let state: 'lost' | 'verifying' | 'ready' | 'closed' = 'lost';
  let epoch = '';
  /** Counts verifications: what an older one comes to is of no meaning. */
  let round = 0;
  let distrusted = false;
  let trouble: string | null = 'Redis is not connected yet';
  /** As `trouble`, but for what mends itself in a moment: for the log. */
  let loss: string | null = null;
  /** The last refusal of a single command, and the last policy that was warned of: told once. */
  let complaint = '';
  let warnedPolicy = '';
  let retryMs = retryFirstMs;
  let timer: NodeJS.Timeout | null = null;
  let waiters: (() => void)[] = [];

  const report = createTroubleReport({
    trouble: () => loss,
    words: {
      begins: (text) => `redis: nothing can be admitted: ${text}`,
      over: 'redis: the counters can be asked again',
    },
    tell: onTrouble,
    clock,
  });

  function tell(text: string | null): void {
    trouble = text;
    loss = text;
    report.look();
  }

  function later(ms: number, what: () => void): void {
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(() => {
      timer = null;
      what();
    }, ms);
    timer.unref();
  }

  function lose(reason: string): void {
    if (state === 'closed') return;
    wire?.destroy();
    wire = null;
    state = 'lost';
    tell(`Redis is lost: ${reason}`);
    later(retryMs, () => void connect());
    retryMs = Math.min(retryMs * 2, retryMaxMs);
  }

  async function connect(): Promise<void> {
    try {
      const opened: Wire = await openWire(url, clock, {
        onOver: (reason) => {
          if (wire === opened) lose(reason);
        },
        onFlowing: () => {
          if (wire === opened && distrusted && state === 'ready') void verify(opened);
        },
      });
      if (state === 'closed') return opened.destroy();
      wire = opened;
      await warnOfEviction(opened);
      // Were one sent again because Redis does not know it, what was sent after it would be done before it.
      await Promise.all(options.scripts.map(({ text }) => opened.send(['SCRIPT', 'LOAD', text])));
      if (wire === opened) await verify(opened);
    } catch (error) {
      lose(wordsOf(error));
    }
  }

  /** Finds out which epoch is in force, and waits until it may be used. */
  async function verify(on: Wire): Promise<void> {
    round += 1;
    const mine = round;
    state = 'verifying';
    trouble = 'the counters begin anew';
    try {
      const info = String(await on.send(['INFO', 'server']));
      const runId = /^run_id:(\S+)/m.exec(info)?.[1];
      if (runId === undefined) throw new Error('INFO does not tell its run_id');
      const renew = distrusted;
      distrusted = false;
      const asked = ['EVAL', epochScript.text, '1', ours + epochKey, runId, randomUUID(), renew ? '*' : ''];
      const [current, ageMs] = (await on.send(asked).catch((error: unknown) => {
        distrusted ||= renew;
        throw error;
      })) as [string, number];
      if (wire !== on || round !== mine) return;
      epoch = current;
      const waitMs = Math.min(epochGuardMs, epochGuardMs - Math.max(0, ageMs));
      if (waitMs > 0) later(waitMs, () => void begin(on, mine));
      else await begin(on, mine);
    } catch (error) {
      if (wire === on && round === mine) lose(wordsOf(error));
    }
  }

  async function begin(on: Wire, mine: number): Promise<void> {
    if (wire !== on || round !== mine) return;
    try {
      await options.beforeEpoch((script, keys, args) => runOn(on, script, keys, args));
    } catch (error) {
      if (wire === on && round === mine) lose(wordsOf(error));
      return;
    }
    // Meanwhile it was lost, or another epoch began.
    if (wire !== on || round !== mine) return;
    state = 'ready';
    retryMs = retryFirstMs;
    tell(null);
    const wake = waiters;
    waiters = [];
    for (const one of wake) one();
    options.onReady();
  }

  async function runOn(on: Wire, script: Script, keys: readonly string[], args: readonly string[]): Promise<Answer> {
    const sentIn = round;
    const rest = [
      String(keys.length + 1),
      ours + epochKey,
      ...keys.map((key) => ours + key),
      epoch,
      options.nowMs === undefined ? '' : String(options.nowMs()),
      ...args,
    ];
    try {
      let reply: Reply;
      try {
        reply = await on.send(['EVALSHA', script.sha, ...rest]);
      } catch (error) {
        if (error instanceof NoReply || !wordsOf(error).startsWith('NOSCRIPT')) throw error;
        reply = await on.send(['EVAL', script.text, ...rest]);
      }
      const answer = reply as readonly Reply[];
      if (answer[0] !== otherEpoch) return answer;
      if (wire === on && round === sentIn) void verify(on);
      return 'unsent';
    } catch (error) {
      if (error instanceof NoReply) return error.sent ? 'unknown' : 'unsent';
      const words = wordsOf(error);
      if (wire === on && cannotServe(words)) lose(words);
      else if (words !== complaint) {
        complaint = words;
        onTrouble(`redis: a command was refused: ${words}`);
      }
      return 'unknown';
    }
  }

  async function warnOfEviction(on: Wire): Promise<void> {
    const policy = await evictionPolicy(on);
    if (policy === null || policy === warnedPolicy) return;
    warnedPolicy = policy;
    if (policy !== 'noeviction')
      onTrouble(`redis: maxmemory-policy is ${policy}; set noeviction, or counts may be dropped and reseeded`);
  }

  const pulse = setInterval(() => {
    // What was not told because it had only just begun again.
    report.look();
    if (wire !== null && state === 'ready' && !wire.slow()) void runOn(wire, pulseScript, [], []);
  }, pulseEveryMs);
  pulse.unref();
  void connect();
  return {
    run: (script, keys, args) =>
      wire === null || state !== 'ready' || wire.slow() ? Promise.resolve('unsent') : runOn(wire, script, keys, args),
    ready: () => state === 'ready' && wire?.slow() === false,
    lost: () => state === 'lost' || wire?.slow() === true,
    trouble: () => (wire?.slow() ? 'Redis does not answer in time' : trouble),
    distrust() {
      distrusted = true;
    },
    whenReady: () => (state === 'ready' ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
    close() {
      state = 'closed';
      clearInterval(pulse);
      if (timer !== null) clearTimeout(timer);
      wire?.destroy();
      wire = null;
    },
  };
}
