import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { closedPort } from './start-process.ts';

const program = fileURLToPath(new URL('../.test-tools/bin/versitygw', import.meta.url));

/** Why tests over S3 cannot run here: a test's `skip`. */
export const s3Missing: string | false = existsSync(program)
  ? false
  : 'versitygw is not installed (npm run setup:test-tools)';

/** The one user of the server, who may do everything. */
export const s3Keys = { access_key_id: 'user', secret_access_key: 'only-for-tests' };

export interface StartedS3 {
  url: string;
  port: number;
  /** Keys of the objects in a bucket, sorted. */
  keys(bucket: string): string[];
  /** Contents of an object. */
  text(bucket: string, key: string): string;
  /** SIGKILL, and its end. */
  kill(): Promise<void>;
  /** On the same port, with the objects that it had. */
  restart(): Promise<void>;
}

/**
 * An S3 server on loopback that checks signatures; gone after the test. Buckets are a part of the path, and of the host
 * name below `s3.test`.
 */
export async function startS3(t: Pick<TestContext, 'after'>, ...buckets: readonly string[]): Promise<StartedS3> {
  const dir = mkdtempSync(join(tmpdir(), 'culvert-s3-'));
  const root = join(dir, 'root');
  const side = join(dir, 'side');
  for (const bucket of buckets) mkdirSync(join(root, bucket), { recursive: true });
  mkdirSync(side);
  const port = await closedPort();
  let server: ChildProcess | null = null;

  async function launch(): Promise<void> {
    const keys = ['--access', s3Keys.access_key_id, '--secret', s3Keys.secret_access_key];
    const where = ['--port', `127.0.0.1:${port}`, '--virtual-domain', 's3.test', '--quiet'];
    const child = spawn(program, [...keys, ...where, 'posix', '--sidecar', side, root], { stdio: 'ignore' });
    server = child;
    // It answers as soon as it listens, if only that somebody without a key may not see this.
    while (!(await fetch(`http://127.0.0.1:${port}`).catch(() => null))) {
      if (child.exitCode !== null) throw new Error(`versitygw ended with ${child.exitCode}`);
      await pause(20);
    }
  }

  async function kill(): Promise<void> {
    if (server === null || server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill('SIGKILL');
    await exited;
  }

  t.after(async () => {
    await kill();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  });
  await launch();
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    keys: (bucket) =>
      readdirSync(join(root, bucket), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && !entry.parentPath.includes('.sgwtmp'))
        .map((entry) => relative(join(root, bucket), join(entry.parentPath, entry.name)))
        .sort(),
    text: (bucket, key) => readFileSync(join(root, bucket, key), 'utf8'),
    kill,
    restart: launch,
  };
}
