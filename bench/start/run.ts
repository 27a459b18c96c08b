// node bench/run.mjs start
// A newcomer's first start: a clone of the newest commit, an empty npm cache, `npm start`, until a chat is answered.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { closedPort } from '../../test/start-process.ts';
import { finish } from '../results.ts';
import { judged, print, type Row, told } from '../rows.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const lookMs = 50;
const givesUpMs = 600_000;

const place = mkdtempSync(join(tmpdir(), 'culvert-first-start-'));
const clone = join(place, 'culvert');
execFileSync('git', ['clone', '--quiet', root, clone]);
const port = await closedPort();
const url = `http://127.0.0.1:${port}`;
const cache = join(place, 'npm-cache');
mkdirSync(cache);
// The repository's own Node is not in reach, as on a newcomer's machine.
const path = (process.env.PATH ?? '')
  .split(':')
  .filter((folder) => !folder.includes('node_modules'))
  .join(':');

const beganMs = performance.now();
const npm = spawn('npm', ['start', '--', '--port', String(port)], {
  cwd: clone,
  env: { PATH: path, HOME: process.env.HOME ?? place, npm_config_cache: cache },
  stdio: ['ignore', 'ignore', 'pipe'],
});
let errors = '';
npm.stderr.setEncoding('utf8').on('data', (text: string) => {
  errors += text;
});

let rows: Row[];
try {
  const answeredMs = await until(npm, isChatAnswered);
  const packages = packagesIn(join(clone, 'node_modules'));
  const dashboardMs = await until(npm, async () => (await fetch(`${url}/dashboard/`)).status === 200);
  rows = [
    ...print([judged('first answer of a chat', [answeredMs / 1_000], { atMost: 25, unit: ' s', digits: 1 })]),
    ...print([told('packages installed by then', String(packages))]),
    ...print([told('dashboard, which is built meanwhile', `${(dashboardMs / 1_000).toFixed(1)} s`)]),
  ];
} finally {
  npm.kill('SIGTERM');
  await new Promise((resolve) => (npm.exitCode === null ? npm.on('exit', resolve) : resolve(null)));
  rmSync(place, { recursive: true, force: true, maxRetries: 5 });
}
finish({
  subject: 'start',
  command: 'node bench/run.mjs start',
  how: `Seconds after \`npm start\` in a fresh clone, with an empty npm cache and the system's Node
${execFileSync('node', ['--version'], { env: { PATH: path }, encoding: 'utf8' }).trim()}. The network to the registry is part of them.`,
  rows,
});

async function isChatAnswered(): Promise<boolean> {
  const keyFile = join(clone, '.culvert', 'api.key');
  if (!existsSync(keyFile)) return false;
  const { ok } = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${readFileSync(keyFile, 'utf8').trim()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim/chat', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  return ok;
}

/** Milliseconds from the start until `reached`. Throws with the output of a server that has ended, or is too late. */
async function until(server: ChildProcess, reached: () => Promise<boolean>): Promise<number> {
  while (performance.now() - beganMs < givesUpMs) {
    if (server.exitCode !== null) throw new Error(`npm start has ended:\n${errors}`);
    if (await reached().catch(() => false)) return performance.now() - beganMs;
    await pause(lookMs);
  }
  throw new Error(`Nothing after ${givesUpMs / 1_000} s:\n${errors}`);
}

function packagesIn(modules: string): number {
  return readdirSync(modules, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /^(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^@/][^/]*\/package\.json$/.test(file),
  ).length;
}
