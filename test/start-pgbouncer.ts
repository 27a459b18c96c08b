import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { closedPort, temporaryFolder } from './start-process.ts';
import { until } from './until.ts';

/** Why tests over PgBouncer cannot run here: a test's `skip`. */
export const pgbouncerMissing: string | false = answers()
  ? false
  : 'pgbouncer is not installed (npm run setup:test-tools)';

/** A pooler of transactions in front of the databases of a PostgreSQL, with fewer connections than a server of ours opens. */
export async function startPgbouncer(t: Pick<TestContext, 'after'>, postgresPort: number): Promise<{ port: number }> {
  const port = await closedPort();
  const folder = temporaryFolder(t);
  chmodSync(folder, 0o755);
  const file = join(folder, 'pgbouncer.ini');
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: 'transaction',
    default_pool_size: 3,
    max_client_conn: 200,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const databases = `[databases]\n* = host=127.0.0.1 port=${postgresPort} user=culvert\n`;
  writeFileSync(file, `${databases}[pgbouncer]\n${lines.join('\n')}\n`);
  // It refuses root.
  const owner = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const child = spawn('pgbouncer', [file], { stdio: ['ignore', 'ignore', 'pipe'], ...owner });
  t.after(() => child.kill('SIGKILL'));
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-8_192);
  });
  await until('pgbouncer listens', () => {
    if (child.exitCode !== null) throw new Error(log);
    return log.includes('process up');
  });
  return { port };
}

function answers(): boolean {
  try {
    execFileSync('pgbouncer', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
