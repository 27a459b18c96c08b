import { spawn } from 'node:child_process';
import { cleanEnv, type Lifetime } from './start-process.ts';

export interface Terminal {
  /** All of its output so far, with control characters. */
  shown(): string;
  /** Resolves once it showed this; rejects when the program ends without it. */
  showed(text: string | RegExp): Promise<void>;
  type(keys: string): void;
  /** The terminal is closed, as by a window's button. */
  hangUp(): void;
  /** The program's exit code. */
  ended: Promise<number | null>;
}

export interface TerminalOptions {
  cwd: string;
  columns: number;
  env?: Readonly<Record<string, string>>;
}

/** Runs a line of sh in a terminal of its own, made by script(1) of util-linux. */
export function openTerminal(t: Lifetime, line: string, { cwd, columns, env }: TerminalOptions): Terminal {
  const command = `stty cols ${columns} rows 50; exec ${line}`;
  const child = spawn('script', ['--quiet', '--return', '--flush', '--command', command, '/dev/null'], {
    cwd,
    env: { ...cleanEnv({ SHELL: '/bin/sh', TERM: 'xterm', ...env }) },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let output = '';
  let waiting: (() => void)[] = [];
  const look = () => {
    const now = waiting;
    waiting = [];
    for (const wake of now) wake();
  };
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      look();
    });
  let code: number | null | undefined;
  const ended = new Promise<number | null>((resolve) => {
    child.on('close', (exitCode) => {
      code = exitCode;
      look();
      resolve(exitCode);
    });
  });
  child.stdin.on('error', () => undefined);
  t.after(async () => {
    if (code === undefined) child.kill('SIGKILL');
    await ended;
  });
  return {
    shown: () => output,
    async showed(text) {
      for (;;) {
        if (typeof text === 'string' ? output.includes(text) : text.test(output)) return;
        if (code !== undefined) throw new Error(`it ended (${code}) without ${text}:\n${output}`);
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
    type: (keys) => void child.stdin.write(keys),
    hangUp: () => void child.kill('SIGKILL'),
    ended,
  };
}

/** Lines as on the screen: without colours, and after a carriage return only the last text. */
export function linesOn(shown: string): string[] {
  return shown
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map(
      (line) =>
        line
          // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
          .replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
          .split('\r')
          .at(-1)!,
    );
}
