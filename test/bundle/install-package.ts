import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
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

/** Built, packed and installed by npm, which finds no other package. The repository's own `dist/` stays as it is. */
export async function installPackage(t: Lifetime): Promise<InstalledPackage> {
  const place = temporaryFolder(t);
  const staged = join(place, 'staged');
  mkdirSync(staged);
  const manifest = readFileSync(join(root, 'package.json'), 'utf8');
  const { files } = JSON.parse(manifest) as { files: string[] };
  for (const file of files.filter((file) => file !== 'dist'))
    cpSync(join(root, file), join(staged, file), { recursive: true });
  const { packedManifest } = (await import(String(new URL('../../scripts/packed-manifest.mjs', import.meta.url)))) as {
    packedManifest(text: string): string;
  };
  writeFileSync(join(staged, 'package.json'), packedManifest(manifest));
  // With the sources there, what is packed shows that they are left out.
  cpSync(join(root, 'src'), join(staged, 'src'), { recursive: true });
  const { buildBundle } = (await import(String(new URL('../../scripts/build.mjs', import.meta.url)))) as {
    buildBundle(folder: string): Promise<void>;
  };
  await buildBundle(join(staged, 'dist'));

  const packing = ['pack', '--json', '--ignore-scripts', '--pack-destination', place];
  const { stdout } = await run('npm', packing, { cwd: staged, maxBuffer: 16 * 1024 * 1024 });
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  const app = join(place, 'app');
  mkdirSync(app);
  await run('npm', ['install', '--offline', '--omit=optional', join(place, packed!.filename)], { cwd: app });
  const folder = join(app, 'node_modules', 'culvert-gateway');
  return { folder, bin: join(folder, 'bin', 'culvert.mjs'), files: packed!.files.map(({ path }) => path) };
}
