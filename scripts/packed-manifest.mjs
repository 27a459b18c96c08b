// Run by `npm pack`: the package's package.json names no packages, since the bundle holds them all, and nothing that only
// the repository has. npm reads the file from this folder, so it is written there before and put back after.
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const file = join(root, 'package.json');
const kept = join(root, 'node_modules', '.cache', 'culvert', 'package.json');

/**
 * The manifest of the package. Its peer dependencies are not in the bundle. `env` has the repository of a run of GitHub
 * Actions, which a proof of provenance must find in the package.
 */
export function packedManifest(text, env) {
  const { dependencies, devDependencies, optionalDependencies, overrides, scripts, workspaces, ...rest } =
    JSON.parse(text);
  if (dependencies === undefined)
    throw new Error(`package.json is what an earlier pack, which failed, left behind; ${kept} is what it was.`);
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = env;
  const repository = server && name ? { type: 'git', url: `git+${server}/${name}.git` } : undefined;
  return `${JSON.stringify({ ...rest, repository }, null, 2)}\n`;
}

/** npm would send the registry a package.json that it reads after it was put back, with every dependency in it. */
function refuseToPublish() {
  console.error('Publish the packed file instead of this folder: npm publish $(npm pack --silent)');
  process.exit(1);
}

/** node_modules may lie on another disk, from which nothing can be renamed to here. */
function restore() {
  const beside = `${file}.new`;
  copyFileSync(kept, beside);
  renameSync(beside, file);
  rmSync(kept);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  if (process.argv[2] === 'publish') refuseToPublish();
  else if (process.argv[2] === 'restore') restore();
  else {
    const text = readFileSync(file, 'utf8');
    const packed = packedManifest(text, process.env);
    mkdirSync(dirname(kept), { recursive: true });
    writeFileSync(kept, text);
    writeFileSync(file, packed);
  }
}
