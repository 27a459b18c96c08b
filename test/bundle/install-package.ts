import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Lifetime, temporaryFolder } from '../start-process.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const run = promisify(execFile);

export interface InstalledPackage {
  folder: string;
  /** Of the program. */
  bin: string;
  /** What the package holds, relative to `folder`. */
  files: readonly string[];
}

/**
 * Culvert as `npm install` leaves it somewhere, without any of its dependencies: built, packed by npm, and unpacked. The
 * repository's own `dist/` stays as it is.
 */
export async function installPackage(t: Lifetime): Promise<InstalledPackage> {
  const place = temporaryFolder(t);
  const staged = join(place, 'staged');
  mkdirSync(staged);
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { files: string[] };
  for (const file of ['package.json', ...files.filter((file) => file !== 'dist')])
    cpSync(join(root, file), join(staged, file), { recursive: true });
  // With the sources there, what is packed shows that they are left out.
  cpSync(join(root, 'src'), join(staged, 'src'), { recursive: true });
  const { buildBundle } = (await import(String(new URL('../../scripts/build.mjs', import.meta.url)))) as {
    buildBundle(folder: string): Promise<void>;
  };
  await buildBundle(join(staged, 'dist'));

  const packing = ['pack', '--json', '--ignore-scripts', '--pack-destination', place];
  const { stdout } = await run('npm', packing, { cwd: staged, maxBuffer: 16 * 1024 * 1024 });
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  await run('tar', ['-xzf', join(place, packed!.filename), '-C', place]);
  const folder = join(place, 'app', 'node_modules', 'culvert');
  mkdirSync(dirname(folder), { recursive: true });
  renameSync(join(place, 'package'), folder);
  return { folder, bin: join(folder, 'bin', 'culvert.mjs'), files: packed!.files.map(({ path }) => path) };
}
