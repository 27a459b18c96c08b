import { type ChildProcess, fork } from 'node:child_process';
import { Socket } from 'node:net';
import type { FromHost, ToHost } from './child/host-messages.ts';
import type { EngineTimer } from './engine-timer.ts';

/** Part of the child's output for the message when it dies. */
const stderrCharsMax = 2_000;

export interface EngineRunEvents {
  received(run: EngineRun, message: FromHost): void;
  /** `how`: in words; its last line with them. */
  ended(run: EngineRun, how: string): void;
}

/** One run of the process that holds an engine, from its start to its end. */
export class EngineRun {
  readonly #process: ChildProcess;
  readonly #timer: EngineTimer;
  #stderr = '';
  /** Why we ended it; null when it ended without a signal of ours. */
  #killedFor: string | null = null;
  #stopWatch = () => {};

  constructor(entry: URL, timer: EngineTimer, events: EngineRunEvents) {
    this.#timer = timer;
    // Nothing of our environment: no credential belongs in a process that runs other people's models.
    const process = fork(entry, [], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      execArgv: [],
      env: childEnvironment(),
    });
    this.#process = process;
    process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-stderrCharsMax);
    });
    process.on('message', (message: FromHost) => events.received(this, message));
    process.on('error', (error) => {
      process.kill('SIGKILL');
      events.ended(this, this.#whyEnded(error.message));
    });
    // `close` and not `exit`: its last words are read by then.
    process.on('close', (code, signal) => events.ended(this, this.#whyEnded(signal ?? `exit code ${code}`)));
  }

  get pid(): number | null {
    return this.#process.pid ?? null;
  }

  send(message: ToHost): void {
    // What cannot be sent belongs to a child that is about to end: its end says the rest.
    if (this.#process.connected) this.#process.send(message, () => {});
  }

  /** From now on it is killed after this long without a message. */
  watch(silenceMs: number): void {
    this.#stopWatch();
    this.#stopWatch = this.#timer(silenceMs, () => this.kill(`it said nothing for ${silenceMs / 1_000} s`));
  }

  stopWatch(): void {
    this.#stopWatch();
  }

  /** It keeps the gateway's process alive. */
  ref(): void {
    this.#process.ref();
    this.#process.channel?.ref();
  }

  /** It keeps no process alive. */
  unref(): void {
    this.#process.unref();
    this.#process.channel?.unref();
    const { stderr } = this.#process;
    if (stderr instanceof Socket) stderr.unref();
  }

  /** SIGKILL: a stopped process takes no other signal. `reason` is reported at its end, unless an earlier one is. */
  kill(reason: string): void {
    this.#killedFor ??= reason;
    this.#process.kill('SIGKILL');
  }

  /** Kills it; resolves when it is gone. */
  async end(): Promise<void> {
    const process = this.#process;
    this.#stopWatch();
    if (process.exitCode !== null || process.signalCode !== null) return;
    const exited = new Promise((resolve) => process.once('exit', resolve));
    process.ref();
    process.kill('SIGKILL');
    await exited;
  }

  #whyEnded(how: string): string {
    return this.#killedFor ?? `it ended (${how})${lastLineOf(this.#stderr)}`;
  }
}

function childEnvironment(): NodeJS.ProcessEnv {
  const passed = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'NODE_COMPILE_CACHE'];
  return Object.fromEntries(
    passed.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}

function lastLineOf(stderr: string): string {
  const line = stderr.trim().split('\n').at(-1)?.trim() ?? '';
  return line === '' ? '' : `: ${line.slice(0, 200)}`;
}
