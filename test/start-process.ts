import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Command, runWarm } from './warm-commands.ts';

/** A link to the program by the name that an installed one has, which its hints repeat. */
export const culvertBin = join(dirname(fileURLToPath(import.meta.url)), 'bin', 'culvert');

/** A test, or a measurement: it ends what was started for it. */
export interface Lifetime {
  after(end: () => unknown): void;
}

export interface ProcessOptions {
  /** After `start`. */
  args?: readonly string[];
  /** Added to an environment without any provider's key. */
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  /** The program; default: this repository's. */
  bin?: string;
  /** One that needs no Node, instead of `bin`. */
  executable?: string;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface StartedProcess {
  /** From the line with its address. */
  url: string;
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Resolves once the output holds it; rejects when the process ends without it. */
  said(text: string | RegExp): Promise<void>;
  exited: Promise<Exit>;
  /** SIGTERM, and its end. */
  stop(): Promise<Exit>;
}

/** An empty folder, gone after the test. */
export function temporaryFolder(t: Lifetime): string {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-cli-'));
  // A process that is still ending may write into it meanwhile.
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  return folder;
}

/** Environment of every test of the program: nothing of the machine's providers or settings. */
export function cleanEnv(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { PATH = '', HOME = '', NODE_V8_COVERAGE, CULVERT_SOURCES } = process.env;
  return {
    PATH,
    HOME,
    ...(NODE_V8_COVERAGE !== undefined && { NODE_V8_COVERAGE }),
    // `npm test` has looked at the sources once for all programs.
    ...(CULVERT_SOURCES !== undefined && { CULVERT_SOURCES }),
    ...more,
  };
}

/** Runs `culvert start` as users do; resolves when it listens. Rejects with its output when it ends instead. */
export async function startProcess(t: Lifetime, options: ProcessOptions = {}): Promise<StartedProcess> {
  const started = launch(t, ['start', ...(options.args ?? ['--port', '0'])], options);
  await started.said(/listens on http:\/\/\S+/);
  const url = /listens on (http:\/\/[^\s,]+)/.exec(started.stdout())![1]!;
  return { ...started, url };
}

/** Runs the program without waiting for anything. */
export function launch(
  t: Lifetime,
  args: readonly string[],
  options: ProcessOptions = {},
): Omit<StartedProcess, 'url'> {
  const [program, ...first] = programOf(options);
  const child = spawn(program, [...first, ...args], {
    cwd: options.cwd ?? temporaryFolder(t),
    env: cleanEnv(options.env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  let waiting: (() => void)[] = [];
  const look = () => {
    const now = waiting;
    waiting = [];
    for (const wake of now) wake();
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    look();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
    look();
  });
  let end: Exit | null = null;
  const exited = new Promise<Exit>((resolve) => {
    child.on('close', (code, signal) => {
      end = { code, signal };
      look();
      resolve(end);
    });
  });
  t.after(async () => {
    if (end === null) child.kill('SIGKILL');
    await exited;
  });
  return {
    child,
    stdout: () => out,
    stderr: () => err,
    exited,
    async said(text) {
      for (;;) {
        const all = out + err;
        if (typeof text === 'string' ? all.includes(text) : text.test(all)) return;
        if (end !== null) throw new Error(`culvert ended (${end.code ?? end.signal}) without ${text}:\n${all}`);
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
    stop() {
      child.kill('SIGTERM');
      return exited;
    },
  };
}

function programOf({ bin = culvertBin, executable }: ProcessOptions): [string, ...string[]] {
  return executable === undefined ? [process.execPath, bin] : [executable];
}

/** Progress of a command that takes more than two seconds, as any does on a busy machine. */
const progressLine = /^.+, \d+ s\n/gm;

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Runs one command to its end; `input` is its standard input. Lines of progress are left out of what it said. It shares a
 * process with other commands, unless it has an input or `alone` says that it has one of its own.
 */
export async function runCommand(
  args: readonly string[],
  options: Pick<ProcessOptions, 'env' | 'bin' | 'executable'> &
    Pick<Command, 'columns'> & { cwd: string; input?: string; alone?: boolean },
): Promise<Ran> {
  const { input, alone, bin, executable, cwd, columns } = options;
  if (input !== undefined || alone || bin !== undefined || executable !== undefined) return runAlone(args, options);
  const { code, stdout, stderr } = await runWarm({ args, cwd, env: cleanEnv(options.env), columns });
  return { code, stdout, stderr: stderr.replaceAll(progressLine, '') };
}

function runAlone(
  args: readonly string[],
  options: Pick<ProcessOptions, 'env' | 'bin' | 'executable'> & { cwd: string; input?: string },
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const [program, ...first] = programOf(options);
    const child = spawn(program, [...first, ...args], { cwd: options.cwd, env: cleanEnv(options.env) });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr: stderr.replaceAll(progressLine, '') }));
    // A command that does not read its input may be gone before it is written.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
  });
}

/**
 * A port on which nothing listens, as of just now. It is below those that the system gives to connections and to whoever
 * asks for any port, so no other test gets it that way.
 */
export async function closedPort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 32_000);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await new Promise((resolve) => {
      server.once('listening', () => server.close(() => resolve(true)));
      server.once('error', () => resolve(false));
    });
    if (isFree) return port;
  }
}
