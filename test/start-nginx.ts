import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { closedPlace } from './faults/dead-places.ts';
import { cert, key } from './loopback-certificate.ts';
import { type Lifetime, temporaryFolder } from './start-process.ts';

export const nginxMissing: string | false =
  spawnSync('nginx', ['-v']).status === 0 ? false : 'nginx is not installed (npm run setup:test-tools)';

/** The files of deploy/nginx that are a whole site. */
export const nginxSites = ['trial.conf', 'replicas.conf', 'one-vm.conf'] as const;

const ours = new URL('../deploy/nginx/', import.meta.url);
const temporary = ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/**
 * A real nginx with a file that deploy/ has, in front of these servers. Only ports, paths and the words in capitals
 * differ. `origin` is what callers use, `https://127.0.0.1:PORT` for one-vm.conf; `log` is its log of errors.
 */
export async function startNginx(
  t: Lifetime,
  site: (typeof nginxSites)[number],
  urls: readonly string[],
): Promise<{ origin: string; port: number; log: string }> {
  const folder = temporaryFolder(t);
  const [port, otherPort] = [await freePort(), await freePort()];
  const [one = '', ...others] = urls.map((url) => new URL(url).port);
  const log = join(folder, 'nginx-error.log');
  writeFileSync(join(folder, 'key.pem'), key);
  writeFileSync(join(folder, 'cert.pem'), cert);
  for (const name of temporary) mkdirSync(join(folder, name));
  const text = readFileSync(new URL(site, ours), 'utf8')
    .replaceAll('PRIVATE_KEY', join(folder, 'key.pem'))
    .replaceAll('CERTIFICATE', join(folder, 'cert.pem'))
    .replaceAll('LOCATION', fileURLToPath(new URL('location.conf', ours)))
    .replace(/\/etc\/nginx\/\S*location\.conf/, fileURLToPath(new URL('location.conf', ours)))
    .replaceAll('FOLDER', folder)
    .replaceAll('REPLICA_1', one)
    .replace(/^.*REPLICA_2.*\n/gm, (line) => others.map((other) => line.replace('REPLICA_2', other)).join(''))
    .replaceAll('PORT', String(port))
    .replaceAll('NAME', '127.0.0.1')
    // Names of Docker, and a word that is newer than Debian's nginx.
    .replace(/server culvert:4141 resolve/, `server 127.0.0.1:${one}`)
    .replace('server 127.0.0.1:4141', `server 127.0.0.1:${one}`)
    .replace(/^ *listen \[::\].*\n/gm, '')
    .replace('listen 443', `listen 127.0.0.1:${port}`)
    .replace('listen 80', `listen 127.0.0.1:${site === 'one-vm.conf' ? otherPort : port}`);
  await run(t, site === 'trial.conf' ? text : wholeFile(text, folder, log), { folder, port, log });
  return { origin: `${site === 'one-vm.conf' ? 'https' : 'http'}://127.0.0.1:${port}`, port, log };
}

/** A real nginx that gives each request to the next of these servers, and what never reached one to another. */
export async function startBalancer(t: Lifetime, urls: readonly string[]): Promise<{ url: string }> {
  const folder = temporaryFolder(t);
  const port = await freePort();
  const log = join(folder, 'nginx-error.log');
  for (const name of temporary) mkdirSync(join(folder, name));
  const servers = urls.map((url) => `server ${new URL(url).host} max_fails=1 fail_timeout=1s;`).join(' ');
  const site = `upstream behind { ${servers} keepalive 16; }
server {
  listen 127.0.0.1:${port};
  client_max_body_size 100m;
  location / { proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection ""; }
}`;
  await run(t, wholeFile(site, folder, log), { folder, port, log });
  return { url: `http://127.0.0.1:${port}` };
}

/** A path of a proxy that is passed on to a server, or stripped before. */
export type ProxiedPath = 'passed on' | 'stripped';

/** A real nginx at `port` that has a server below `/culvert/`, by deploy/nginx/location.conf, and nothing elsewhere. */
export async function startNginxBelow(t: Lifetime, port: number, url: string, path: ProxiedPath): Promise<void> {
  const folder = temporaryFolder(t);
  const log = join(folder, 'nginx-error.log');
  for (const name of temporary) mkdirSync(join(folder, name));
  const strips = path === 'stripped' ? 'rewrite ^/culvert/(.*)$ /$1 break;' : '';
  const site = `map $http_upgrade $culvert_connection { default ""; ~*^websocket$ upgrade; }
upstream culvert { server ${new URL(url).host}; keepalive 16; }
server {
  listen 127.0.0.1:${port};
  location /culvert/ { ${strips} include ${fileURLToPath(new URL('location.conf', ours))}; }
}`;
  await run(t, wholeFile(site, folder, log), { folder, port, log });
}

/** Resolves when it listens. */
async function run(
  t: Lifetime,
  text: string,
  { folder, port, log }: { folder: string; port: number; log: string },
): Promise<void> {
  const file = join(folder, 'nginx.conf');
  // Workers may read this folder, whose owner starts nginx.
  const user = process.getuid?.() === 0 ? 'user root;\n' : '';
  writeFileSync(file, user + text);
  // Errors that nginx finds before it has read where its log is.
  const firstLog = join(folder, 'nginx-stderr.log');
  const firstErrors = openSync(firstLog, 'w');
  const nginx = spawn('nginx', ['-c', file, '-p', folder], { stdio: ['ignore', 'ignore', firstErrors] });
  closeSync(firstErrors);
  t.after(async () => {
    const ended = once(nginx, 'exit');
    if (nginx.exitCode === null && nginx.kill('SIGTERM')) await ended;
  });
  for (let tries = 0; !(await accepts(port)); tries++) {
    if (tries > 600 || nginx.exitCode !== null) {
      const errors = [firstLog, log].filter(existsSync).map((path) => readFileSync(path, 'utf8'));
      throw new Error(`nginx does not serve (exit ${nginx.exitCode}): ${errors.join('\n')}`);
    }
    await after(50);
  }
}

/** A site as the system's nginx.conf includes it. */
function wholeFile(site: string, folder: string, log: string): string {
  const paths = temporary.map((name) => `${name === 'body' ? 'client_body' : name}_temp_path ${folder}/${name};`);
  return `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${log} warn; events {}
http { access_log off; ${paths.join(' ')}\n${site} }
`;
}

export async function freePort(): Promise<number> {
  return Number(new URL(await closedPlace()).port);
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.destroy() && resolve(true));
    socket.once('error', () => resolve(false));
  });
}
