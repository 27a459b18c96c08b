import { type ChildProcess, fork } from 'node:child_process';
import type { Clock } from '../../kernel/clock.ts';
import { createTurns } from '../../kernel/sharing/turns.ts';
import type { FromHost, ToHost } from './child/host-messages.ts';
import { engineCrowded, engineFailed } from './engine-error.ts';
import { type EngineTimer, systemTimer } from './engine-timer.ts';

/** Orders of one tenant that wait for their turn; one more is refused at once, so that its request goes to the next target. */
export const queuedOrdersMax = 32;
/** Of all tenants. */
const allQueuedOrdersMax = 128;
/** A child that says nothing for so long while it has an order is killed. Longer than any window of Whisper takes. */
const orderSilenceMs = 120_000;
/** The same while it loads its model, from a slow disk perhaps. */
const loadSilenceMs = 300_000;
const idleMs = 600_000;
const backOffMs = 1_000;
const backOffMaxMs = 60_000;
/** Of what the child writes, for the message when it dies. */
const stderrCharsMax = 2_000;

/**
 * A process of its own that holds one model and answers one order after another, in turn for those that ask: started by the first, stopped when it
 * has had none for ten minutes. What crashes it or hangs in it never reaches the gateway, nor does its memory.
 */
export interface EngineChild {
  /**
   * The answer to one order. Rejects with an EngineError when the queue is full, the child died or hung, or said so
   * itself; with the signal's reason once it is aborted, though what the child has begun it ends.
   */
  ask<Answer>(tenant: string, order: object, signal?: AbortSignal): Promise<Answer>;
  /** Its pid while it runs. */
  pid(): number | null;
  /** Kills it and what waits for it; nothing may be asked after. */
  close(): Promise<void>;
}

export interface EngineChildOptions {
  /** For messages: `the engine kokoro-82m`. */
  name: string;
  /** What it is to load: the first message that it gets. */
  load: object;
  clock: Clock;
  /** Another child's code, in tests. */
  entry?: URL;
  timer?: EngineTimer;
}

interface Order {
  id: number;
  order: object;
  settle: { resolve(answer: never): void; reject(error: unknown): void };
}

/** One run of the child, from its start to its end. */
interface Run {
  process: ChildProcess;
  loaded: boolean;
  atWork: Order | null;
  stderr: string;
  /** Why we ended it; null when it ended by itself. */
  killedFor: string | null;
  stopWatch(): void;
}

export function createEngineChild(options: EngineChildOptions): EngineChild {
  const { name, clock, timer = systemTimer } = options;
  const entry = options.entry ?? new URL('./child/engine-host.ts', import.meta.url);
  const turns = createTurns({
    name: `Orders of ${name}`,
    places: 1,
    waitingMax: allQueuedOrdersMax,
    tenantWaitingMax: queuedOrdersMax,
    refusal: engineCrowded,
  });
  /** Has its turn, and waits for the child to be there. */
  let first: Order | null = null;
  let run: Run | null = null;
  let lastId = 0;
  let crashes = 0;
  let lastDeath = '';
  let startableMs = Number.NEGATIVE_INFINITY;
  let stopIdle = () => {};
  let closed = false;

  function start(): Run {
    const started: Run = {
      // Nothing of our environment: no credential belongs in a process that runs other people's models.
      process: fork(entry, [], {
        serialization: 'advanced',
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
        execArgv: [],
        env: childEnvironment(),
      }),
      loaded: false,
      atWork: null,
      stderr: '',
      killedFor: null,
      stopWatch() {},
    };
    const { process } = started;
    process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      started.stderr = (started.stderr + text).slice(-stderrCharsMax);
    });
    process.on('message', (message: FromHost) => heard(started, message));
    process.on('error', (error) => {
      process.kill('SIGKILL');
      ended(started, error.message);
    });
    // `close` and not `exit`: its last words are read by then.
    process.on('close', (code, signal) => ended(started, signal ?? `exit code ${code}`));
    send(started, { kind: 'load', load: options.load });
    watch(started, loadSilenceMs);
    return started;
  }

  function send({ process }: Run, message: ToHost): void {
    // What cannot be sent belongs to a child that is about to end: its end says the rest.
    if (process.connected) process.send(message, () => {});
  }

  function watch(of: Run, silenceMs: number): void {
    of.stopWatch();
    of.stopWatch = timer(silenceMs, () => kill(of, `it said nothing for ${silenceMs / 1_000} s`));
  }

  /** SIGKILL: a stopped process takes no other signal. */
  function kill(of: Run, reason: string): void {
    of.killedFor ??= reason;
    of.process.kill('SIGKILL');
  }

  function heard(of: Run, message: FromHost): void {
    if (of !== run) return;
    if (message.kind === 'loaded') {
      of.loaded = true;
      of.stopWatch();
      return next();
    }
    if (message.kind === 'not-loaded') {
      lastDeath = message.message;
      return kill(of, message.message);
    }
    const { atWork } = of;
    if (atWork === null || atWork.id !== message.id) return;
    of.atWork = null;
    of.stopWatch();
    if (message.kind === 'done') {
      crashes = 0;
      atWork.settle.resolve(message.answer as never);
    } else atWork.settle.reject(engineFailed(`${name}: ${message.message}`));
    next();
  }

  function next(): void {
    if (first === null) {
      if (run?.loaded && run.atWork === null) rest(run);
      return;
    }
    run ??= start();
    if (!run.loaded || run.atWork !== null) return;
    const order = first;
    first = null;
    run.process.ref();
    run.process.channel?.ref();
    run.atWork = order;
    send(run, { kind: 'order', id: order.id, order: order.order });
    watch(run, orderSilenceMs);
  }

  /** Nothing to do: it keeps nobody alive, and goes when that lasts. */
  function rest(of: Run): void {
    of.process.unref();
    of.process.channel?.unref();
    (of.process.stderr as unknown as { unref?(): void } | null)?.unref?.();
    stopIdle();
    stopIdle = timer(idleMs, () => {
      if (of !== run || of.atWork !== null || first !== null) return;
      run = null;
      of.process.kill('SIGKILL');
    });
  }

  function ended(of: Run, how: string): void {
    of.stopWatch();
    if (of !== run) return;
    run = null;
    stopIdle();
    if (closed) return;
    crashes += 1;
    const restMs = Math.min(backOffMaxMs, backOffMs * 2 ** (crashes - 1));
    startableMs = clock.monotonicMs() + restMs;
    lastDeath = of.killedFor ?? `it ended (${how})${lastLineOf(of.stderr)}`;
    // Those that wait too: whatever else can do their work is faster than a model that has to be loaded again.
    const lost = engineFailed(`${name}: ${lastDeath}`, restMs);
    turns.refuseWaiting(lost);
    of.atWork?.settle.reject(lost);
    first?.settle.reject(lost);
    first = null;
  }

  return {
    async ask(tenant, order, signal) {
      if (closed) throw engineFailed(`${name} is closed`);
      const waitMs = startableMs - clock.monotonicMs();
      if (run === null && waitMs > 0) {
        throw engineFailed(`${name} is restarted in ${Math.ceil(waitMs / 1_000)} s: ${lastDeath}`, Math.ceil(waitMs));
      }
      const turn = await turns.take(tenant, signal ?? null);
      return new Promise((resolve, reject) => {
        const settled = () => {
          signal?.removeEventListener('abort', leave);
          turn.giveBack();
        };
        const asked: Order = {
          id: ++lastId,
          order,
          settle: {
            resolve(answer) {
              settled();
              resolve(answer);
            },
            reject(error) {
              settled();
              reject(error);
            },
          },
        };
        // What the child has begun it ends, and keeps its turn so long.
        const leave = () => {
          reject(signal?.reason);
          if (first !== asked) return;
          first = null;
          turn.giveBack();
        };
        if (closed) return asked.settle.reject(engineFailed(`${name} is closed`));
        if (signal?.aborted) return asked.settle.reject(signal.reason);
        signal?.addEventListener('abort', leave, { once: true });
        stopIdle();
        first = asked;
        next();
      });
    },
    pid: () => run?.process.pid ?? null,
    async close() {
      closed = true;
      stopIdle();
      const closing = run;
      turns.refuseWaiting(engineFailed(`${name} is closed`));
      first?.settle.reject(engineFailed(`${name} is closed`));
      if (closing === null) return;
      run = null;
      closing.stopWatch();
      closing.atWork?.settle.reject(engineFailed(`${name} is closed`));
      if (closing.process.exitCode !== null || closing.process.signalCode !== null) return;
      const gone = new Promise((resolve) => closing.process.once('exit', resolve));
      closing.process.ref();
      closing.process.kill('SIGKILL');
      await gone;
    },
  };
}

function childEnvironment(): NodeJS.ProcessEnv {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'NODE_COMPILE_CACHE'];
  return Object.fromEntries(
    kept.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}

function lastLineOf(stderr: string): string {
  const line = stderr.trim().split('\n').at(-1)?.trim() ?? '';
  return line === '' ? '' : `: ${line.slice(0, 200)}`;
}
