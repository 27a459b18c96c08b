import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { stringify } from 'yaml';
import { adminKey, noLimits, testKey, testProcesses } from '../start-gateway.ts';
import { culvertBin, type Lifetime, temporaryFolder } from '../start-process.ts';
import { closedPlace } from './dead-places.ts';

export interface GatewayProcess {
  url: string;
  process: ChildProcess;
  /** Whether it lives. */
  lives(): boolean;
  /** The file it was started with. */
  file: string;
}

export interface GatewayProcessOptions {
  /** Runs it, such as prlimit. */
  under?: readonly string[];
  /** The file of its log; in its own folder by default. */
  log?: string | null;
  graceMs?: number;
  /** Port of an earlier server. */
  at?: string | null;
  /** The program; of this checkout by default. */
  bin?: string;
}

/** `culvert start` as a process of its own. */
export async function startGatewayProcess(
  t: Lifetime,
  config: Record<string, unknown>,
  options: GatewayProcessOptions = {},
): Promise<GatewayProcess> {
  const { under = [], log = null, graceMs = 1_000, at = null, bin = culvertBin } = options;
  const folder = temporaryFolder(t);
  const url = at ?? (await closedPlace());
  const file = join(folder, 'culvert.yaml');
  const isEmbedded = (config.storage as { database?: string } | undefined)?.database === undefined;
  const processes = isEmbedded ? testProcesses : 1;
  // One is the default, which versions of before that key do not know.
  const server = { ...(processes > 1 && { processes }), ...(config.server as object) };
  // A suite that names their number looks at their start itself.
  const readyPath = Object.hasOwn(config.server ?? {}, 'processes') || processes === 1 ? '/healthz' : '/readyz';
  writeFileSync(
    file,
    stringify({
      admin: { key: adminKey },
      storage: { data_dir: join(folder, 'data') },
      autodetect: 'off',
      plans: noLimits,
      keys: [{ key: testKey, account: 'dev', name: 'test' }],
      ...config,
      server: { port: Number(new URL(url).port), shutdown_grace: `${graceMs}ms`, ...server },
    }),
  );
  const [command = '', ...args] = [...under, process.execPath, bin, 'start', '--config', file];
  const sinkFile = log ?? join(folder, 'log');
  const sink = openSync(sinkFile, 'w');
  const child = spawn(command, args, { stdio: ['ignore', sink, sink], cwd: folder });
  closeSync(sink);
  t.after(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });
  const lives = () => child.exitCode === null && child.signalCode === null;
  while (lives()) {
    const ready = await fetch(`${url}${readyPath}`).catch(() => null);
    if (ready?.status === 200) return { url, process: child, lives, file };
    await after(25);
  }
  const said = readFileSync(sinkFile, 'utf8').slice(-2_000);
  // A program of another test took the free port meanwhile.
  if (at === null && said.includes('Another program uses port')) return startGatewayProcess(t, config, options);
  throw new Error(`the gateway ended with ${child.exitCode ?? child.signalCode}\n${said}`);
}

/** One chat; its status and how long it took. */
export async function chatOnce(url: string, content = 'Hello'): Promise<{ status: number; ms: number; text: string }> {
  const startedMs = performance.now();
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content }] }),
  });
  const text = await response.text();
  return { status: response.status, ms: performance.now() - startedMs, text };
}
