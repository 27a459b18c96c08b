import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** Images of these tests alone: the imitated bases must not be taken for the real ones. */
const store = join(root, '.test-tools', 'images');
const places = ['--root', join(store, 'root'), '--runroot', join(store, 'run')];
/** It runs where control groups are mounted in both versions, too, which crun refuses. */
const podmanArguments = [...places, '--runtime', 'runc'];
const run = promisify(execFile);

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs podman to its end, whatever it answers. */
export async function podman(...args: readonly string[]): Promise<Ran> {
  try {
    const ran = await run('podman', [...podmanArguments, ...args], { maxBuffer: 16 * 1024 * 1024 });
    return { code: 0, ...ran };
  } catch (error) {
    const { code, stdout, stderr } = error as Ran;
    return { code: Number(code), stdout, stderr };
  }
}

/** Output of podman. Throws its error when it fails. */
export async function podmanSays(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await podman(...args);
  if (code !== 0) throw new Error(`podman ${args[0]} ended with ${code}: ${stderr}`);
  return stdout.trim();
}

/** Why images cannot be built here; null when they can. */
export function toolsMissing(): string | null {
  if (process.getuid?.() !== 0) return 'this needs root';
  const missing = ['podman', 'buildah', 'runc', 'debootstrap'].filter(
    (name) => spawnSync('which', [name]).status !== 0,
  );
  return missing.length === 0 ? null : `${missing.join(', ')} missing: npm run setup:deploy-tools`;
}

/** Builds a target of deploy/Dockerfile as `culvert:TARGET`; steps that did not change are taken from the run before. */
export function build(target: string): void {
  const options = ['--layers', '--pull=never', '--isolation=chroot', '--network=host', '--format=docker', '--quiet'];
  const args = [...podmanArguments, 'build', ...options, '--target', target, '--tag', `culvert:${target}`];
  const { status, stdout, stderr } = spawnSync('podman', [...args, '--file', 'deploy/Dockerfile', '.'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`The image ${target} could not be built:\n${stdout}${stderr}`);
}

/**
 * Makes what the Dockerfile starts FROM, since no registry of images can be asked here: Debian by debootstrap, with the
 * two settings of the official slim image, and for `node:…` this repository's Node and npm in the places of the official
 * one. Made once for each tag.
 */
export async function imitateBases(): Promise<void> {
  const tags = [...readFileSync(join(root, 'deploy', 'Dockerfile'), 'utf8').matchAll(/^FROM (debian|node):(\S+)/gm)];
  const debian = tags.find(([, name]) => name === 'debian')![2]!;
  const node = tags.find(([, name]) => name === 'node')![2]!;
  const version = execFileSync(process.execPath, ['-v'], { encoding: 'utf8' }).trim().slice(1);
  if (!node.startsWith(`${version}-trixie`))
    throw new Error(`FROM node:${node}, but this repository's Node is ${version}.`);
  mkdirSync(store, { recursive: true });
  if ((await podman('image', 'exists', `docker.io/library/debian:${debian}`)).code !== 0) await importDebian(debian);
  if ((await podman('image', 'exists', `docker.io/library/node:${node}`)).code !== 0) await addNode(debian, node);
}

async function importDebian(tag: string): Promise<void> {
  await bootstrap('trixie', [], `docker.io/library/debian:${tag}`, (system) => {
    const found = readFileSync(join(system, 'etc/debian_version'), 'utf8').trim();
    if (found !== tag.replace('-slim', ''))
      console.error(`FROM debian:${tag}, but Debian's newest of trixie is ${found}.`);
    const sources = ['trixie', 'trixie-updates'].map((suite) => `deb http://deb.debian.org/debian ${suite} main\n`);
    writeFileSync(
      join(system, 'etc/apt/sources.list'),
      `${sources.join('')}deb http://deb.debian.org/debian-security trixie-security main\n`,
    );
    writeFileSync(
      join(system, 'etc/apt/apt.conf.d/docker-clean'),
      'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true"; };\n',
    );
    const left = ['doc', 'info', 'locale', 'man'].map((name) => `/usr/share/${name}`);
    writeFileSync(join(system, 'etc/dpkg/dpkg.cfg.d/docker'), left.map((path) => `path-exclude ${path}/*\n`).join(''));
    for (const path of [...left, '/var/cache/apt', '/var/lib/apt/lists'])
      rmSync(join(system, path), { recursive: true, force: true });
  });
}

/** A Debian with systemd, and with the programs that one-vm.sh would install: `localhost/machine:12`. Made once. */
export async function imitateMachine(): Promise<void> {
  mkdirSync(store, { recursive: true });
  if ((await podman('image', 'exists', 'localhost/machine:12')).code === 0) return;
  const packages = ['systemd', 'systemd-sysv', 'dbus', 'procps', 'nginx', 'curl', 'openssl'];
  await bootstrap('bookworm', packages, 'localhost/machine:12', (system) => {
    // debootstrap cannot choose between packages that provide the same.
    const install = ['apt-get', 'install', '-y', '-qq', '--no-install-recommends', 'chromium'];
    execFileSync('chroot', [system, ...install], {
      stdio: 'ignore',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  });
}

async function bootstrap(
  suite: string,
  packages: readonly string[],
  image: string,
  change: (system: string) => void = () => undefined,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-debian-'));
  const system = join(folder, 'system');
  const archive = join(folder, 'system.tar');
  try {
    const include = packages.length === 0 ? [] : [`--include=${packages.join(',')}`];
    execFileSync('debootstrap', ['--variant=minbase', ...include, suite, system], { stdio: 'ignore' });
    change(system);
    execFileSync('tar', ['-C', system, '-cf', archive, '.']);
    await podmanSays('import', '--quiet', archive, image);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function addNode(debian: string, tag: string): Promise<void> {
  const buildah = (...args: readonly string[]) =>
    execFileSync('buildah', [...places, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  // …/npm/bin/npm-cli.js
  const npm = dirname(dirname(realpathSync(execFileSync('which', ['npm'], { encoding: 'utf8' }).trim())));
  const container = buildah('from', `docker.io/library/debian:${debian}`);
  buildah('copy', '--quiet', container, process.execPath, '/usr/local/bin/node');
  buildah('copy', '--quiet', container, npm, '/usr/local/lib/node_modules/npm');
  buildah(
    'run',
    '--isolation=chroot',
    container,
    'ln',
    '-s',
    '../lib/node_modules/npm/bin/npm-cli.js',
    '/usr/local/bin/npm',
  );
  // When this machine reaches registries through a proxy of its own, npm in there must trust it, too.
  const trusted = process.env.NODE_EXTRA_CA_CERTS;
  if (trusted !== undefined && existsSync(trusted)) {
    buildah('copy', '--quiet', container, trusted, '/etc/machine-ca.pem');
    buildah('config', '--env', 'NODE_EXTRA_CA_CERTS=/etc/machine-ca.pem', container);
  }
  buildah('commit', '--quiet', '--rm', container, `docker.io/library/node:${tag}`);
}
