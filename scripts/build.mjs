// `npm run build`: src/ and the packages it uses as one bundle in dist/, and the dashboard in dist/web. That is what
// `npm pack` ships, and what `bin/culvert.mjs` runs as long as the sources have not changed since.
import { copyFileSync, cpSync, existsSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { ensureWeb } from './build-web.mjs';
import { writeLibraryTypes } from './library-types.mjs';
import { licencesOf } from './licences.mjs';
import { isTestFile, sourceStamp } from './source-stamp.mjs';
import { manualPage } from './write-command-docs.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Looked for when the program runs: optional peers, and what packages of ours try to load and do without. */
const external = [
  'playwright-core',
  'aws4fetch',
  '@aws-sdk/credential-providers',
  'nodemailer',
  'google-auth-library',
  'pg-native',
  'canvas',
  '@napi-rs/canvas',
];

/** Entries that applications import, by the file of dist/. The gateway's loads the program's own bundle. */
const libraries = { 'src/main/create-gateway.ts': 'gateway', 'src/library/formats.ts': 'formats' };

/** How a source names a file beside it: the entry of a thread or a process, or data. */
const place = /new URL\('(\.[^']*)', import\.meta\.url\)/g;

/** Modules that code loads without a promise (kernel/require-now), which may wait for nothing themselves. */
const required = /requireNow<typeof import\('[^']+'\)>\(\s*new URL\('(\.[^']*)', import\.meta\.url\)/g;

/** Writes the bundle into `folder`, which is there whole or as before. */
export async function buildBundle(folder) {
  const stamp = sourceStamp(root);
  const fresh = `${folder}.new-${process.pid}`;
  try {
    await writeBundle(fresh);
    writeFileSync(join(fresh, 'stamp'), stamp);
    rmSync(folder, { recursive: true, force: true });
    renameSync(fresh, folder);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Builds dist/ unless it is what the sources say. */
export async function ensureBundle() {
  const stamp = join(root, 'dist', 'stamp');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== sourceStamp(root)) await buildBundle(join(root, 'dist'));
}

async function writeBundle(folder) {
  const named = filesNamedInSources();
  const entries = named.filter((file) => file.endsWith('.ts'));
  const modules = [];
  // Each by itself: what two of them share would be split into hundreds of files, and a start would read most.
  const atOnce = namedBy(required);
  for (const entry of ['src/main.ts', ...Object.keys(libraries), ...entries])
    for (const { moduleIds = [] } of await bundle(entry, folder, atOnce)) modules.push(...moduleIds);
  writeLibraryTypes(join(folder, 'types'));
  await ensureWeb();
  cpSync(join(root, 'web', 'dist'), join(folder, 'web'), { recursive: true });
  for (const file of named) if (!entries.includes(file)) copyFileSync(join(root, file), join(folder, basename(file)));
  writeFileSync(join(folder, 'LICENSES.txt'), licencesOf(modules));
  writeFileSync(join(folder, 'culvert.1'), await manualPage(packageVersion()));
}

function packageVersion() {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;
}

/** All entries of threads and processes, and all data, relative to the root. Their names alone say which is which in dist/. */
function filesNamedInSources() {
  const files = [...namedBy(place)].filter((file) => file.startsWith('src/'));
  const names = files.map((file) => basename(file));
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  if (twice.length > 0) throw new Error(`In dist/ only one file can be called ${twice.join(', ')}.`);
  return files;
}

/** Files that sources name in such a form. */
function namedBy(form) {
  const sources = globSync('src/**/*.ts', { cwd: root })
    .map(withSlashes)
    .filter((file) => !isTestFile(file));
  const named = sources.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(form)].map(([, to]) => posix.join(posix.dirname(file), to)),
  );
  return new Set(named);
}

async function bundle(entry, folder, atOnce) {
  const build = await rolldown({
    cwd: root,
    input: {
      [libraries[entry] ?? basename(entry, '.ts')]: isPlain(entry) || atOnce.has(entry) ? entry : threadEntry + entry,
    },
    platform: 'node',
    external,
    plugins: [{ name: 'culvert', resolveId, load }],
    // The paths of modules, which would be others where node_modules is a link.
    experimental: { attachDebugInfo: 'none' },
    onLog(level, log) {
      if (log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message);
      if (level === 'warn') console.warn(log.message);
    },
  });
  const { output: written } = await build.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    comments: false,
    // One character above U+00FF makes V8 keep the whole file in twice the memory. Lines stay: Node prints the one that
    // a program ended at.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
    sourcemap: true,
    sourcemapExcludeSources: true,
  });
  await build.close();
  return written;
}

/** Names in the bundle are compared with `/`, which Windows does not use. */
function withSlashes(path) {
  return path.replaceAll(sep, '/');
}

const threadEntry = 'thread:';
const isPlain = (entry) => entry === 'src/main.ts' || Object.hasOwn(libraries, entry);

/** Entries that load the program's own bundle. */
const ofProgram = /\/src\/main\/(?:create-gateway|load-worker)\.ts$/;

function resolveId(id, from) {
  if (id === '../main.ts' && ofProgram.test(from)) return { id: './main.js', external: true };
  return id.startsWith(threadEntry) ? id : null;
}

/** Everything lies beside everything in dist/. Source maps are of our own files: those of packages are thrice as large. */
function load(id) {
  // Each thread has an `Error` of its own.
  if (id.startsWith(threadEntry)) {
    const [maps, file] = ['bin/source-maps.mjs', id.slice(threadEntry.length)].map((name) =>
      JSON.stringify(join(root, name)),
    );
    return `import { nameSourcesInStacks } from ${maps};\nnameSourcesInStacks();\nawait import(${file});`;
  }
  const file = withSlashes(relative(root, id));
  if (/\.[cm]?js$/.test(file)) return { code: readFileSync(id, 'utf8'), map: { mappings: '' } };
  if (!file.startsWith('src/') || !file.endsWith('.ts')) return null;
  const code = readFileSync(id, 'utf8').replace(place, (whole, to) => {
    const named = posix.join(posix.dirname(file), to);
    return named.startsWith('src/')
      ? `new URL('./${basename(named).replace(/\.ts$/, '.js')}', import.meta.url)`
      : whole;
  });
  return { code, moduleType: 'ts' };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href)
  await (process.argv.includes('--where-stale') ? ensureBundle() : buildBundle(join(root, 'dist')));
