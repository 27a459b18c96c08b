// `npm run build:executable`: the program with Node in one file, for this system, as build/culvert-PLATFORM-ARCH. It is
// Node's single executable application; scripts/executable.cjs is what it runs first. With `-- --built` it takes dist/ as it
// is: a release gives every system the same one.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { constants, zstdCompressSync } from 'node:zlib';
import { inject } from 'postject';
import { buildBundle } from './build.mjs';
import { packedManifest } from './packed-manifest.mjs';
import { peersHeld } from './sbom.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** From Node's documentation: where postject finds the place of the blob. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
/** Files that a program needs of optional peers. Pages and commands of playwright-core stay out. */
const neededOf = {
  'playwright-core': [
    '*.{json,mjs,txt}',
    'index.js',
    'LICENSE',
    'NOTICE',
    'lib/{*.js,*.wasm,*.LICENSE}',
    'lib/{entry,server}/**',
  ],
};

/** Writes the executable of this system and of the Node that runs this. `dist` is a bundle; null has it made. */
export async function buildExecutable(file, dist = null) {
  const work = mkdtempSync(join(tmpdir(), 'culvert-executable-'));
  try {
    if (dist === null) await buildBundle(join(work, 'dist'));
    const { list, files } = packed(dist ?? join(work, 'dist'));
    writeFileSync(join(work, 'list'), list);
    writeFileSync(join(work, 'files'), files);
    const assets = { list: join(work, 'list'), files: join(work, 'files') };
    const main = join(root, 'scripts', 'executable.cjs');
    const blob = join(work, 'blob');
    const settings = { main, output: blob, assets, disableExperimentalSEAWarning: true };
    writeFileSync(join(work, 'sea.json'), JSON.stringify(settings));
    execFileSync(process.execPath, ['--experimental-sea-config', join(work, 'sea.json')], { stdio: 'pipe' });
    mkdirSync(dirname(file), { recursive: true });
    copyFileSync(process.execPath, file);
    chmodSync(file, 0o755);
    prepare(file);
    await quietly(() =>
      inject(file, 'NODE_SEA_BLOB', readFileSync(blob), { sentinelFuse: fuse, machoSegmentName: 'NODE_SEA' }),
    );
    if (process.platform === 'darwin') execFileSync('codesign', ['--sign', '-', file]);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * The files of a package and of the optional peers, which nobody without npm could add: one after the other, with a list
 * of their paths and sizes.
 */
function packed(dist) {
  const manifest = packedManifest(readFileSync(join(root, 'package.json'), 'utf8'), process.env);
  const { version, peerDependencies } = JSON.parse(manifest);
  const files = [
    ['package.json', Buffer.from(manifest)],
    ['import.cjs', Buffer.from('module.exports = (url) => import(url);\n')],
    ['LICENSE', readFileSync(join(root, 'LICENSE'))],
    ['LICENSE-node', readFileSync(licenceOfNode())],
    ...contentsOf(join(root, 'bin'), ['**'], 'bin/'),
    ...contentsOf(dist, ['**'], 'dist/'),
    ...peersHeld(peerDependencies).flatMap((name) => {
      const path = `node_modules/${name}`;
      return contentsOf(join(root, path), neededOf[name] ?? ['**'], `${path}/`);
    }),
  ];
  const bytes = Buffer.concat(files.map(([, content]) => content));
  const sizes = files.map(([path, { length }]) => [path, length]);
  const digest = createHash('sha256').update(bytes).update(JSON.stringify(sizes)).digest('hex');
  const list = { name: `${version}-${digest.slice(0, 16)}`, files: sizes };
  const params = { [constants.ZSTD_c_compressionLevel]: 15 };
  return { list: JSON.stringify(list), files: zstdCompressSync(bytes, { params }) };
}

/** It asks to go along with Node. */
function licenceOfNode() {
  const folder = dirname(process.execPath);
  const file = [dirname(folder), folder].map((place) => join(place, 'LICENSE')).find((one) => existsSync(one));
  if (file === undefined) throw new Error(`There is no LICENSE beside ${process.execPath}: take a Node of nodejs.org.`);
  return file;
}

function contentsOf(folder, patterns, prefix) {
  return globSync(patterns, { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()
    .map((file) => [prefix + file.slice(folder.length + 1).replaceAll('\\', '/'), readFileSync(file)]);
}

/** Before the blob is in it: symbols for debuggers go (18 MB), and on macOS a signature that would be wrong afterwards. */
function prepare(file) {
  if (process.platform === 'linux') execFileSync('strip', [file]);
  if (process.platform === 'darwin') execFileSync('codesign', ['--remove-signature', file]);
}

/** postject repeats a warning about each section that carries a note. */
async function quietly(work) {
  const { warn } = console;
  console.warn = () => {};
  try {
    await work();
  } finally {
    console.warn = warn;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const file = join(root, 'build', `culvert-${process.platform}-${process.arch}${suffix}`);
  await buildExecutable(file, process.argv[2] === '--built' ? join(root, 'dist') : null);
  console.log(file);
}
