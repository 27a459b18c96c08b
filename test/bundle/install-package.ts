import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Lifetime, temporaryFolder } from '../start-process.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const run = promisify(execFile);

export interface InstalledPackage {
  folder: string;
  /** The packed file. */
  tarball: string;
  /** Of the program. */
  bin: string;
  /** Files of the package, relative to `folder`. */
  files: readonly string[];
}

/** Packed by npm in a copy of the repository, and installed into an empty folder, where npm finds no other package. */
export async function installPackage(t: Lifetime): Promise<InstalledPackage> {
  const place = temporaryFolder(t);
  const clone = join(place, 'clone');
  const manifest = readFileSync(join(root, 'package.json'), 'utf8');
  const { files } = JSON.parse(manifest) as { files: string[] };
  const repository = ['src', 'web', 'scripts', 'package.json', 'package-lock.json', 'tsconfig.json'];
  const copied = [...files.filter((file) => file !== 'dist'), ...repository];
  for (const file of copied) cpSync(join(root, file), join(clone, file), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));

  const packing = ['pack', '--json', '--foreground-scripts=false', '--pack-destination', place];
  // As the release does, whose proof of provenance names the repository.
  const env = { ...process.env, GITHUB_SERVER_URL: 'https://git.example', GITHUB_REPOSITORY: 'someone/culvert' };
  const { stdout } = await run('npm', packing, { cwd: clone, env, maxBuffer: 16 * 1024 * 1024 });
  if (readFileSync(join(clone, 'package.json'), 'utf8') !== manifest) throw new Error('npm pack changed package.json.');
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  const app = join(place, 'app');
  mkdirSync(app);
  const tarball = join(place, packed!.filename);
  await run('npm', ['install', '--offline', tarball], { cwd: app });
  const folder = join(app, 'node_modules', 'culvert-gateway');
  return { folder, tarball, bin: join(folder, 'bin', 'culvert.mjs'), files: packed!.files.map(({ path }) => path) };
}
