import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface Command {
  args: readonly string[];
  cwd: string;
  /** All of its environment. */
  env: Readonly<Record<string, string>>;
  /** Width of the terminal that it seems to write to; absent: it writes to a program. */
  columns?: number | undefined;
}

interface CommandEnd {
  code: number;
  stdout: string;
  stderr: string;
}

/** One that waits does not keep another from going on. */
const processesMax = 2;
const program = fileURLToPath(new URL('./warm-command.mjs', import.meta.url));
const { NODE_COMPILE_CACHE, NODE_V8_COVERAGE, TEST_TIMES, PATH } = process.env;
const idle: ChildProcess[] = [];
const waiting: ((child: ChildProcess) => void)[] = [];
let processes = 0;

/**
 * Runs a command in a process that runs others after it: loading the program costs ten times as much as most commands. The
 * processes end with this one. For what only a process of its own has (signals, input, terminals), start one.
 */
export async function runWarm(command: Command): Promise<CommandEnd> {
  const child = await idleProcess();
  const { promise, resolve, reject } = Promise.withResolvers<CommandEnd>();
  const died = (code: number | null) => reject(new Error(`the process of commands ended with ${code}`));
  child.ref();
  child.channel?.ref();
  child.once('message', resolve).once('exit', died).send(command);
  try {
    return await promise;
  } finally {
    child.off('exit', died);
    if (child.connected) release(child);
  }
}

async function idleProcess(): Promise<ChildProcess> {
  const child = idle.pop();
  if (child !== undefined) return child;
  if (processes === processesMax) return new Promise((resolve) => waiting.push(resolve));
  processes += 1;
  const started = fork(program, {
    cwd: '/',
    execArgv: [],
    env: { NODE_COMPILE_CACHE, NODE_V8_COVERAGE, TEST_TIMES, PATH },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  started.once('exit', () => {
    processes -= 1;
    const at = idle.indexOf(started);
    if (at !== -1) idle.splice(at, 1);
  });
  await once(started, 'message');
  return started;
}

function release(child: ChildProcess): void {
  const next = waiting.shift();
  if (next !== undefined) return next(child);
  child.unref();
  child.channel?.unref();
  idle.push(child);
}
