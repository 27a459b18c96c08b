import { type ChildProcess, fork, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { UpstreamFacts } from './upstream.ts';

/** The core of whatever is measured; load and upstream have the other one. */
export const proxyCore = '0';
export const loadCore = '1';

export interface Subject {
  name: string;
  /** Address for callers. */
  port: number;
  /** Headers its callers send. */
  headers: Readonly<Record<string, string>>;
  /** The process whose CPU and memory count. */
  pid: number;
  stop(): Promise<void>;
}

export interface Upstream {
  port: number;
  pid: number;
  facts(): Promise<UpstreamFacts>;
  stop(): void;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const benchKey = 'sk-cv-bench-key-0001';
const clockTicksPerSecond = 100;

/** CPU seconds of a process, all threads, user and system. */
export function cpuSeconds(pid: number): number {
  // The name in parentheses may hold blanks.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / clockTicksPerSecond;
}

/** Resident memory in MB. */
export function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
}

/** A folder that goes with this process, unless that fails: then its log may say why. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-bench-'));
  folders.push(folder);
  return folder;
}

export async function startUpstream(core = loadCore): Promise<Upstream> {
  const child = fork(new URL('./upstream.ts', import.meta.url), { execArgv: ['--max-semi-space-size=16'] });
  pin(child.pid!, core);
  const port = await new Promise<number>((resolve) =>
    child.once('message', (message) => resolve((message as { port: number }).port)),
  );
  return {
    port,
    pid: child.pid!,
    facts() {
      return new Promise((resolve) => {
        child.once('message', (facts) => resolve(facts as UpstreamFacts));
        child.send({ ask: 'facts' });
      });
    },
    stop: () => void child.kill('SIGKILL'),
  };
}

export function pin(pid: number, core: string): void {
  spawn('taskset', ['-acp', core, String(pid)], { stdio: 'ignore' });
}

/** `workers` above one: its `pid` is the master's, which has done no work. */
export async function startNginx(
  upstreamPort: number,
  { program = '/usr/sbin/nginx', cores = proxyCore, workers = 1 } = {},
): Promise<Subject> {
  const folder = scratchFolder();
  const port = await freePort();
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  writeFileSync(
    join(folder, 'nginx.conf'),
    `worker_processes ${workers}; pid ${folder}/nginx.pid; error_log ${folder}/error.log; worker_rlimit_nofile 19000; daemon off;
events { worker_connections 12000; }
http {
  access_log off; keepalive_requests 1000000000; keepalive_timeout 75s; tcp_nodelay on;
  ${paths.map((path) => `${path}_temp_path ${folder}/${path};`).join(' ')}
  upstream bench { server 127.0.0.1:${upstreamPort}; keepalive 1024; keepalive_requests 1000000000; }
  server { listen 127.0.0.1:${port} backlog=4096;
    location / { proxy_pass http://bench; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } }
}`,
  );
  const child = startPinned(program, ['-c', join(folder, 'nginx.conf'), '-p', folder], 'ignore', {}, cores);
  await answers(port);
  const pid = workers === 1 ? childOf(child.pid!) : child.pid!;
  return { name: 'nginx', port, headers: {}, pid, stop: () => stopped(child) };
}

export interface CulvertStart {
  upstreamPort: number;
  /** Beside the environment. */
  env?: Readonly<Record<string, string>>;
  /** Default: a folder of its own. */
  folder?: string;
  /** Default: `proxyCore`. */
  cores?: string;
  /** Beside what these sections have. */
  server?: Readonly<Record<string, unknown>>;
  storage?: Readonly<Record<string, unknown>>;
  /** Sections of culvert.yaml instead of those for conversations. */
  providers?: Readonly<Record<string, unknown>>;
  models?: Readonly<Record<string, unknown>>;
  /** Beside those of the bench. */
  plans?: Readonly<Record<string, unknown>>;
  keys?: readonly Readonly<Record<string, unknown>>[];
  /** Further sections. */
  sections?: Readonly<Record<string, unknown>>;
  /** The folder of the sources to run; default: this repository. */
  checkout?: string;
  /** The `node` that runs it; default: this one. */
  node?: string | undefined;
}

/** Every kind of limit, too high to be reached. */
export const allLimits = JSON.stringify({
  windows: { '5h': 1e9, week: 1e10, month: 1e11 },
  rpm: 1e9,
  tpm: 1e9,
  concurrency: 1e6,
  tokens: { '5h': 1e12, week: 1e12, month: 1e12 },
  budget: { '5h': 1e6, week: 1e6, month: 1e6 },
  tier_limits: { premium: { rpm: 1e9, '5h': 1e9, week: 1e10, month: 1e11 } },
});

/** Everything on, as an operator would start it: key, ledger, metrics, a log line a request. */
export async function startCulvert(order: CulvertStart): Promise<Subject> {
  const { child, port } = await launchCulvert(order);
  await answers(port);
  return { name: 'Culvert', port, headers: culvertHeaders, pid: child.pid!, stop: () => stopped(child) };
}

export const culvertHeaders = { authorization: `Bearer ${benchKey}` };

/** Only starts it; does not wait until it answers. */
export async function launchCulvert(order: CulvertStart): Promise<{ child: ChildProcess; port: number }> {
  const folder = order.folder ?? scratchFolder();
  const port = await freePort();
  const base = `http://127.0.0.1:${order.upstreamPort}`;
  const config = join(folder, 'culvert.yaml');
  mkdirSync(folder, { recursive: true });
  const providers = order.providers ?? {
    same: { type: 'openai', base_url: `${base}/v1`, api_key: 'upstream-key' },
    other: { type: 'anthropic', base_url: `${base}/v1`, api_key: 'upstream-key' },
  };
  const target = (provider: string) => ({ provider, model: 'bench-model', price: { input: 1, output: 2 } });
  const models = order.models ?? {
    same: { tier: 'premium', targets: [target('same')] },
    converted: { tier: 'premium', targets: [target('other')] },
  };
  const keys = [{ key: benchKey, account: 'bench', name: 'bench', plan: 'bench' }, ...(order.keys ?? [])];
  writeFileSync(
    config,
    `server: ${JSON.stringify({ host: '127.0.0.1', port, ...order.server })}
storage: ${JSON.stringify({ data_dir: `${folder}/data`, ...order.storage })}
providers: ${JSON.stringify(providers)}
models: ${JSON.stringify(models)}
plans: ${JSON.stringify({ bench: JSON.parse(allLimits), ...order.plans })}
keys: ${JSON.stringify(keys)}
autodetect: off
${Object.entries(order.sections ?? {})
  .map(([name, section]) => `${name}: ${JSON.stringify(section)}\n`)
  .join('')}`,
  );
  const log = openSync(join(folder, 'culvert.log'), 'a');
  const args = [join(order.checkout ?? root, 'bin', 'culvert.mjs'), 'start', '--config', config];
  // For profiling by hand, such as CULVERT_BENCH_FLAGS=--cpu-prof.
  const flags = process.env.CULVERT_BENCH_FLAGS?.split(' ') ?? [];
  const child = startPinned(order.node ?? process.execPath, [...flags, ...args], log, order.env, order.cores);
  return { child, port };
}

export async function startBareProxy(upstreamPort: number, cores = proxyCore): Promise<Subject> {
  const port = await freePort();
  const script = fileURLToPath(new URL('./bare-proxy.ts', import.meta.url));
  const child = startPinned(process.execPath, [script, String(port), String(upstreamPort)], 'ignore', {}, cores);
  await answers(port);
  return { name: 'a bare proxy', port, headers: {}, pid: child.pid!, stop: () => stopped(child) };
}

/** The `node` outside this repository: Portkey runs on the machine's own. */
export function systemNode(): string {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    if (folder.includes('node_modules')) continue;
    try {
      if (readdirSync(folder).includes('node')) return join(folder, 'node');
    } catch {
      // Not every folder of PATH exists.
    }
  }
  return process.execPath;
}

/** A process on one core; it ends with this one at the latest. */
export function startPinned(
  command: string,
  args: readonly string[],
  output: number | 'ignore',
  env: Readonly<Record<string, string>> = {},
  cores = proxyCore,
): ChildProcess {
  const stderr = process.env.CULVERT_BENCH_DEBUG === undefined ? output : 'inherit';
  const child = spawn('taskset', ['-c', cores, command, ...args], {
    stdio: ['ignore', output, stderr],
    env: { ...process.env, ...env },
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** Nothing that was started here outlives a run, a failed one included. */
const running = new Set<ChildProcess>();
const folders: string[] = [];
process.on('exit', (code) => {
  for (const child of running) child.kill('SIGTERM');
  if (code === 0) for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});

/** SIGTERM, and its end; SIGKILL where that takes longer than three seconds. */
export function stopped(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), 3_000).unref();
  });
}

/** nginx's worker. */
function childOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return Number(children.split(' ')[0]);
}

export async function freePort(): Promise<number> {
  const { createServer } = await import('node:net');
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** Until something listens. */
export async function answers(port: number, everyMs = 50, patienceMs = 15_000): Promise<void> {
  for (let attempt = 0; attempt < patienceMs / everyMs; attempt += 1) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  throw new Error(`nothing answers on port ${port}`);
}
