// The dashboard, web/ → web/dist: built by Vite, compressed beforehand, with a stamp of what it was made of, and the site of
// docs/ in web/dist/docs. `npm start` runs this when the stamp differs (scripts/setup.mjs); `npm run build` puts the same
// into dist/web.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib';
import { licencesOf } from './licences.mjs';
import { webStamp, webStampFile } from './web-stamp.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** The best, 11, makes the files a tenth smaller and takes 14 s of a first start. */
const brotliQuality = 9;

/**
 * Writes the built dashboard and documentation into `folder`, which is there whole or as before. Resolves to its
 * chunks and to the sizes of its files.
 */
export async function buildWeb(folder) {
  const { build } = await import('vite');
  const stamp = webStamp(root);
  const fresh = `${folder}.new-${process.pid}`;
  try {
    const built = await build({
      root: join(root, 'web'),
      logLevel: 'warn',
      build: { outDir: fresh, emptyOutDir: true },
    });
    const site = await buildDocs(join(fresh, 'docs'));
    const files = compress(fresh, '');
    const chunks = built.output.filter(({ type }) => type === 'chunk');
    writeFileSync(join(fresh, 'LICENSES.txt'), licencesOf([...chunks.flatMap(({ moduleIds }) => moduleIds), ...site]));
    writeFileSync(join(fresh, webStampFile), stamp);
    mkdirSync(dirname(folder), { recursive: true });
    replace(folder, fresh);
    return { files, chunks };
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Writes the site of docs/ into `outDir`. Resolves to the files that its scripts are made of; a dead link is an error. */
async function buildDocs(outDir) {
  const { build } = await import('vitepress');
  const modules = [];
  const noting = {
    name: 'note-modules',
    generateBundle(_options, bundle) {
      for (const { moduleIds = [] } of Object.values(bundle)) modules.push(...moduleIds);
    },
  };
  await build(join(root, 'web', 'docs'), {
    outDir,
    onAfterConfigResolve(config) {
      config.vite = { ...config.vite, plugins: [...(config.vite?.plugins ?? []), noting] };
    },
  });
  return modules;
}

/** Several may build the same at once, such as tests: the last one stays. */
function replace(folder, fresh) {
  for (let tries = 1; ; tries += 1) {
    rmSync(folder, { recursive: true, force: true });
    try {
      return renameSync(fresh, folder);
    } catch (error) {
      if (error.code !== 'ENOTEMPTY' || tries === 5) throw error;
    }
  }
}

/** Writes `.br` and `.gz` beside every text. Gives the size of each file by its path, gzipped where it is a text. */
function compress(folder, below) {
  const sizes = new Map();
  for (const entry of readdirSync(join(folder, below), { withFileTypes: true })) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) {
      for (const [name, size] of compress(folder, path)) sizes.set(name, size);
      continue;
    }
    const bytes = readFileSync(join(folder, path));
    if (!/\.(js|css|html|svg|json)$/.test(path)) {
      sizes.set(path, bytes.length);
      continue;
    }
    const gzipped = gzipSync(bytes, { level: 9 });
    writeFileSync(join(folder, `${path}.gz`), gzipped);
    writeFileSync(
      join(folder, `${path}.br`),
      brotliCompressSync(bytes, { params: { [zlib.BROTLI_PARAM_QUALITY]: brotliQuality } }),
    );
    sizes.set(path, gzipped.length);
  }
  return sizes;
}

/** Gzipped bytes of the entry and of the page that is shown first, with all that they import now or at once, and styles. */
export function firstLoad({ files, chunks }, page = 'src/pages/overview/page.tsx') {
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  const loaded = new Set(['index.html']);
  const add = (name) => {
    const chunk = byName.get(name);
    if (chunk === undefined || loaded.has(name)) return;
    loaded.add(name);
    for (const style of chunk.viteMetadata?.importedCss ?? []) loaded.add(style);
    for (const imported of chunk.imports) add(imported);
  };
  for (const { fileName, isEntry, facadeModuleId, dynamicImports } of chunks) {
    if (isEntry) add(fileName);
    if (facadeModuleId?.endsWith(page)) for (const name of [fileName, ...dynamicImports]) add(name);
  }
  return [...loaded].reduce((sum, name) => sum + (files.get(name) ?? 0), 0);
}

/** Builds web/dist unless it is there as its sources are. Resolves to what was built; null when it was there. */
export async function ensureWeb() {
  const folder = join(root, 'web', 'dist');
  const seen = join(folder, webStampFile);
  return existsSync(seen) && readFileSync(seen, 'utf8') === webStamp(root) ? null : buildWeb(folder);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const force = process.argv.includes('--force');
  const built = force ? await buildWeb(join(root, 'web', 'dist')) : await ensureWeb();
  if (built !== null) {
    if (process.argv.includes('--sizes')) {
      const largest = [...built.files].sort(([, a], [, b]) => b - a);
      for (const [name, size] of largest) console.log(`${(size / 1_000).toFixed(1).padStart(7)} kB  ${name}`);
    }
    const kilobytes = Math.ceil(firstLoad(built) / 1_000);
    console.error(`Dashboard built: ${built.files.size} files; the first load is ${kilobytes} kB, compressed.`);
  }
}
