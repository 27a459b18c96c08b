import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { closedPort } from './start-process.ts';

/** Why tests over Redis cannot run here: a test's `skip`. */
export const redisMissing: string | false =
  answers('redis-server') && answers('redis-cli') ? false : 'redis-server is not installed (npm run setup:test-tools)';

export interface RedisOptions {
  /** Its working folder, for dumps; one of its own otherwise. */
  dir?: string;
  /** Arguments of redis-server, such as `--appendonly yes`; without them nothing is persisted. */
  args?: readonly string[];
  /** A free one otherwise. */
  port?: number;
  /** False: nothing listens until `restart`. */
  running?: boolean;
}

export interface StartedRedis {
  url: string;
  /** Holds the dump. */
  dir: string;
  /** SIGKILL, and its end. */
  kill(): Promise<void>;
  /** On the same port, with whatever it had persisted. */
  restart(): Promise<void>;
  /** Output of redis-cli. */
  cli(...args: string[]): string;
  /** A reply that is a status, a number or a text, without a process for it. Rejects for an error, and where nobody answers. */
  ask(...args: string[]): Promise<string>;
}

/** A primary usually waits 5 s for more replicas before it sends the first one what it has. */
const usual = ['--bind', '127.0.0.1', '--save', '', '--repl-diskless-sync-delay', '0'];

/** A server of its own on loopback, gone after the test, or (null) with this process. */
export async function startRedis(
  t: Pick<TestContext, 'after'> | null,
  options: RedisOptions = {},
): Promise<StartedRedis> {
  const port = options.port ?? (await closedPort());
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'culvert-redis-'));
  let server: ChildProcess | null = null;

  async function launch(): Promise<void> {
    const child = spawn('redis-server', [...usual, '--port', String(port), '--dir', dir, ...(options.args ?? [])], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    server = child;
    running.add(child);
    child.once('exit', () => running.delete(child));
    let log = '';
    await new Promise<void>((resolve, reject) => {
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        log = (log + text).slice(-8_192);
        if (log.includes('Ready to accept connections')) resolve();
      });
      child.once('exit', () => reject(new Error(`redis-server ended:\n${log}`)));
    });
    if (t !== null) return;
    // Shared by a test file, whose process must not wait for it.
    child.unref();
    (child.stdout as Socket).unref();
    (child.stderr as Socket).unref();
  }

  async function kill(): Promise<void> {
    if (server === null || server.exitCode !== null || server.signalCode !== null) return;
    server.ref();
    const exited = once(server, 'exit');
    server.kill('SIGKILL');
    await exited;
  }

  t?.after(async () => {
    await kill();
    if (options.dir === undefined) rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  });
  if (options.dir === undefined) folders.add(dir);
  if (options.running !== false) await launch();
  return {
    url: `redis://127.0.0.1:${port}`,
    dir,
    kill,
    restart: launch,
    cli: (...args) =>
      execFileSync('redis-cli', ['-p', String(port), ...args], { encoding: 'utf8', timeout: 60_000 }).trim(),
    ask: (...args) => replyTo(port, args),
  };
}

function replyTo(port: number, args: readonly string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(port, '127.0.0.1').setTimeout(60_000);
  let read = '';
  socket.on('data', (bytes) => {
    read += bytes.toString('latin1');
    const end = read.indexOf('\r\n');
    if (end < 0) return;
    const [first, rest] = [read.slice(1, end), read.slice(end + 2)];
    if (read.startsWith('$') && rest.length < Number(first)) return;
    socket.destroy();
    if (read.startsWith('-')) reject(new Error(first));
    else resolve(read.startsWith('$') ? rest.slice(0, Number(first)) : first);
  });
  socket.on('error', reject);
  socket.on('timeout', () => socket.destroy(new Error('no reply')));
  socket.on('close', () => reject(new Error('the connection ended before the reply')));
  const texts = args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`);
  socket.write(`*${args.length}\r\n${texts.join('')}`);
  return promise;
}

/** Whatever a test left behind goes with its process. */
const running = new Set<ChildProcess>();
const folders = new Set<string>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
});

function answers(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
