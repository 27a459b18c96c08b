import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { closedPort, temporaryFolder } from './start-process.ts';
import { type StartedRedis, startRedis } from './start-redis.ts';
import { until } from './until.ts';

export interface StartedSentinels {
  /** For `storage.state`. */
  url: string;
  /** The primary, and its replica. */
  servers: readonly [StartedRedis, StartedRedis];
}

/** A primary named `main` with a replica, and three sentinels that look after them, with this password of their own. */
export async function startRedisSentinels(
  t: Pick<TestContext, 'after'>,
  password: string | null = null,
): Promise<StartedSentinels> {
  const primary = await startRedis(t);
  const { port } = new URL(primary.url);
  const replica = await startRedis(t, { args: ['--replicaof', `127.0.0.1 ${port}`] });
  await until('the replica has everything', () => replica.cli('INFO', 'replication').includes('master_link_status:up'));
  const ports: number[] = [];
  for (let at = 0; at < 3; at++) {
    const own = await closedPort();
    const dir = temporaryFolder(t);
    const file = join(dir, 'sentinel.conf');
    const rules = [
      `monitor main 127.0.0.1 ${port} 2`,
      'down-after-milliseconds main 500',
      'failover-timeout main 3000',
    ];
    if (password !== null) rules.push(`sentinel-pass ${password}`);
    const access = password === null ? [] : [`requirepass ${password}`];
    writeFileSync(
      file,
      [`port ${own}`, `dir ${dir}`, ...access, ...rules.map((rule) => `sentinel ${rule}`), ''].join('\n'),
    );
    const child = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' });
    t.after(() => child.kill('SIGKILL'));
    ports.push(own);
  }
  const sees = (own: number) => {
    try {
      const login = password === null ? [] : ['--no-auth-warning', '-a', password];
      const command = ['-p', String(own), ...login, 'SENTINEL', 'MASTER', 'main'];
      const known = execFileSync('redis-cli', command, { encoding: 'utf8', timeout: 60_000 });
      return /num-slaves\n1\n/.test(known) && /num-other-sentinels\n2\n/.test(known);
    } catch {
      return false;
    }
  };
  await until('the sentinels know each other and the replica', () => ports.every(sees), 30_000);
  const [first, ...others] = ports;
  const nodes = others.map((own) => `node=127.0.0.1:${own}`).join('&');
  const query = password === null ? nodes : `${nodes}&sentinel_password=${encodeURIComponent(password)}`;
  return { url: `redis+sentinel://127.0.0.1:${first}/main/0?${query}`, servers: [primary, replica] };
}
