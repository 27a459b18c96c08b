import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { closedPort } from './start-process.ts';

/** Needs of the servers of Debian's packages; the newest installed one. */
const bin =
  globSync('/usr/lib/postgresql/*/bin')
    .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .at(-1) ?? null;

/** Why tests over PostgreSQL cannot run here: a test's `skip`. */
export const postgresMissing: string | false =
  bin !== null && existsSync(join(bin, 'initdb')) ? false : 'postgresql is not installed (npm run setup:test-tools)';

/** initdb refuses root: the package's own user runs it then. */
const owner = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {};

export interface StartedPostgres {
  /** Of a database that is empty at first. */
  url: string;
  port: number;
  /** Another empty database on this server. */
  newDatabase(): string;
  /** Ends it, `SIGKILL` and all its children with it, and waits for that. */
  stop(signal: 'SIGINT' | 'SIGKILL'): Promise<void>;
  /** It and its processes do nothing until the returned function is called: connections open, and nobody answers. */
  stall(): () => void;
  /** On the same port, with the kept data. */
  restart(): Promise<void>;
}

/**
 * A server of its own on a free port of loopback, gone after the test, or (null) with this process. It takes half a
 * second: once a test file, with a database a test. Syncs nothing: SIGKILL leaves its writes to the kernel.
 */
export async function startPostgres(t: Pick<TestContext, 'after'> | null): Promise<StartedPostgres> {
  if (bin === null) throw new Error(String(postgresMissing));
  const folder = mkdtempSync(join(tmpdir(), 'culvert-postgres-'));
  if (owner.uid !== undefined) chownSync(folder, owner.uid, owner.gid);
  chmodSync(folder, 0o700);
  const data = join(folder, 'data');
  const places = { cwd: folder, ...owner };
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-A', 'trust', '-U', 'culvert', '--no-sync', '-E', 'UTF8', '--locale=C'],
    { ...places, stdio: 'ignore' },
  );
  const port = await closedPort();
  let server = await launch();
  let databases = 0;

  async function launch(): Promise<ChildProcess> {
    const settings = {
      port: String(port),
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: '100',
      shared_buffers: '32MB',
      fsync: 'off',
      autovacuum: 'off',
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = spawn(join(bin!, 'postgres'), ['-D', data, ...args], {
      ...places,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    // Its log is read on, or it would block once the pipe is full.
    let log = '';
    await new Promise<void>((resolve, reject) => {
      child.stderr!.setEncoding('utf8').on('data', (text: string) => {
        log = (log + text).slice(-8_192);
        if (log.includes('ready to accept connections')) resolve();
      });
      child.once('exit', () => reject(new Error(`postgres ended:\n${log}`)));
    });
    running.add(child);
    // A test that is over does not wait for it.
    child.unref();
    (child.stderr as Socket).unref();
    return child;
  }

  async function stop(signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.ref();
    const exited = once(server, 'exit');
    // Its children leave its group; one that lived on would hold the shared memory of the next start.
    const children = signal === 'SIGKILL' ? childrenOf(server.pid!) : [];
    server.kill(signal);
    for (const child of children) killQuietly(child);
    await exited;
    running.delete(server);
  }

  async function end(): Promise<void> {
    await stop('SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
  t?.after(end);
  ends.add(folder);

  const urlOf = (database: string) => `postgres://culvert@127.0.0.1:${port}/${database}`;
  return {
    url: urlOf('postgres'),
    port,
    newDatabase() {
      databases += 1;
      const name = `culvert_${process.pid}_${databases}`;
      execFileSync(join(bin!, 'createdb'), ['-h', '127.0.0.1', '-p', String(port), '-U', 'culvert', name]);
      return urlOf(name);
    },
    stop,
    stall() {
      const stopped = [server.pid!, ...childrenOf(server.pid!)];
      for (const pid of stopped) process.kill(pid, 'SIGSTOP');
      return () => {
        for (const pid of stopped) resume(pid);
      };
    },
    async restart() {
      server = await launch();
    },
  };
}

/** Of a server that stood still, some children may have ended since, such as a worker at the end of its work. */
function resume(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Whatever a test left behind goes with its process. */
const running = new Set<ChildProcess>();
const ends = new Set<string>();
process.once('exit', () => {
  for (const child of running) {
    for (const grandchild of childrenOf(child.pid!)) killQuietly(grandchild);
    child.kill('SIGKILL');
  }
  for (const folder of ends) rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
});

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

function idOf(flag: string): number {
  try {
    return Number(execFileSync('id', [flag, 'postgres'], { stdio: ['ignore', 'pipe', 'ignore'] }).toString());
  } catch {
    return 0;
  }
}
