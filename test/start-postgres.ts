import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { type PoolSizes, poolSizes } from '../src/stores/postgres/database.ts';
import { closedPort } from './start-process.ts';

/** Needs of the servers of Debian's packages; the newest installed one. */
const bin =
  globSync('/usr/lib/postgresql/*/bin')
    .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .at(-1) ?? null;

/** Why tests over PostgreSQL cannot run here: a test's `skip`. */
export const postgresMissing: string | false =
  bin !== null && existsSync(join(bin, 'initdb')) ? false : 'postgresql is not installed (npm run setup:test-tools)';

/** A program that waits, as for a server that is stopped, would hold the thread of its tests for good. */
const programMs = 120_000;

/** initdb refuses root: the package's own user runs it then. */
const owner = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {};

/** Pools of stores that tests open themselves. A busy machine may take longer to connect than the product waits. */
export const patientPools: PoolSizes = { ...poolSizes, patienceMs: 30_000 };

export interface StartedPostgres {
  /** Address of a database without tables at first. */
  url: string;
  port: number;
  /** Another database on this server, with Culvert's tables as a first start leaves them. */
  newDatabase(): string;
  /** Another without tables. */
  emptyDatabase(): string;
  /** Ends it, `SIGKILL` and all its children with it, and waits for that. */
  stop(signal: 'SIGINT' | 'SIGKILL'): Promise<void>;
  /** It and its processes do nothing until the returned function is called: connections open, and nobody answers. */
  stall(): () => void;
  /** On the same port, with the kept data. */
  restart(): Promise<void>;
  /** A replica takes writes from now on. */
  promote(): void;
}

/**
 * A server of its own on a free port of loopback, gone after the test, or (null) with this process: once a test file, with
 * a database a test. Syncs nothing: SIGKILL leaves its writes to the kernel. A replica has lost its primary, and takes no
 * writes until `promote`.
 */
export async function startPostgres(
  t: Pick<TestContext, 'after'> | null,
  role: 'primary' | 'replica' = 'primary',
): Promise<StartedPostgres> {
  const folder = ownFolder();
  const data = join(folder, 'data');
  await runProgram('cp', ['-a', await dataOfFirstStart(), data], { timeout: programMs });
  if (role === 'replica') writeFileSync(join(data, 'standby.signal'), '');
  const server = await runServer(folder, data);
  async function end(): Promise<void> {
    await server.stop('SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
  t?.after(end);
  ends.add(folder);
  return server;
}

/** A folder that the server may use. */
function ownFolder(): string {
  if (bin === null) throw new Error(String(postgresMissing));
  const folder = mkdtempSync(join(tmpdir(), 'culvert-postgres-'));
  if (owner.uid !== undefined) chownSync(folder, owner.uid, owner.gid);
  chmodSync(folder, 0o700);
  return folder;
}

/** Meanwhile the tests of another file go on. */
const runProgram = promisify(execFile);
/** Database that new ones are copies of. */
const firstStart = 'first_start';
let firstData: Promise<string> | null = null;

/**
 * Path of the data of a server with one database as a first start leaves it, for copies. initdb and the migrations take a
 * second of a core, so all processes of a machine share it.
 */
function dataOfFirstStart(): Promise<string> {
  firstData ??= makeFirstData();
  return firstData;
}

async function makeFirstData(): Promise<string> {
  const { openPostgres } = await import('../src/stores/postgres/open.ts');
  const { migrations } = await import('../src/stores/postgres/schema.ts');
  const what = createHash('sha1').update(`${bin} ${owner.uid} ${JSON.stringify(migrations)}`);
  const path = join(tmpdir(), `culvert-first-start-${what.digest('hex').slice(0, 12)}`);
  if (existsSync(path)) return path;
  const folder = ownFolder();
  const data = join(folder, 'data');
  await runProgram(
    join(bin!, 'initdb'),
    ['-D', data, '-A', 'trust', '-U', 'culvert', '--no-sync', '-E', 'UTF8', '--locale=C', '--wal-segsize=1'],
    { cwd: folder, ...owner, timeout: programMs },
  );
  const server = await runServer(folder, data);
  server.run('postgres', `CREATE DATABASE ${firstStart}`);
  await (await openPostgres(server.urlOf(firstStart), patientPools)).close();
  await server.stop('SIGINT');
  try {
    renameSync(data, path);
  } catch (error) {
    // Another process was quicker.
    if (!existsSync(path)) throw error;
  }
  rmSync(folder, { recursive: true, force: true });
  return path;
}

async function runServer(folder: string, data: string) {
  const places = { cwd: folder, ...owner };
  const port = await closedPort();
  let server = await launch();
  let databases = 0;

  async function launch(): Promise<ChildProcess> {
    const settings = {
      port: String(port),
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: '100',
      // Below `data`, so that nothing stays of a killed one.
      dynamic_shared_memory_type: 'mmap',
      min_wal_size: '2MB',
      shared_buffers: '32MB',
      fsync: 'off',
      autovacuum: 'off',
      // Two lines for each new database would fill the pipe of the log while this thread waits for psql.
      log_checkpoints: 'off',
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
        if (/ready to accept (read-only )?connections/.test(log)) resolve();
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

  const urlOf = (database: string) => `postgres://culvert@127.0.0.1:${port}/${database}`;
  function run(database: string, ...commands: readonly string[]): void {
    const each = commands.flatMap((command) => ['-c', command]);
    execFileSync(join(bin!, 'psql'), ['-X', '-q', '-v', 'ON_ERROR_STOP=1', ...each, urlOf(database)], {
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: programMs,
    });
  }
  function newName(): string {
    databases += 1;
    return `culvert_${process.pid}_${databases}`;
  }
  return {
    url: urlOf('postgres'),
    urlOf,
    run,
    port,
    newDatabase() {
      const name = newName();
      // Each database is books of its own.
      const books = `UPDATE culvert.books SET id = left(replace(gen_random_uuid()::text, '-', ''), 12)`;
      run('postgres', `CREATE DATABASE ${name} TEMPLATE ${firstStart} STRATEGY FILE_COPY`, `\\connect ${name}`, books);
      return urlOf(name);
    },
    emptyDatabase() {
      const name = newName();
      run('postgres', `CREATE DATABASE ${name}`);
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
    promote: () => run('postgres', 'SELECT pg_promote()'),
  };
}

/** Lets a stopped process go on. It may have ended since, as a child of the server does at the end of its work. */
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
