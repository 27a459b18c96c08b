// What the dashboard was built of. Plain JavaScript for Node 18+, since scripts/setup.mjs asks.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** In the folder of a built dashboard. */
export const webStampFile = 'stamp';

/** Files of src/ that run in the pages too. */
const shared = ['src/admin/csv.ts', 'src/admin/roles.ts', 'src/books/metering/window.ts', 'src/guards/kinds.ts'];

/** A digest of every source below web/ and docs/, of the lockfile and of the build itself. */
export function webStamp(root) {
  const digest = createHash('sha1');
  for (const file of [
    'package-lock.json',
    'scripts/build-web.mjs',
    ...shared,
    ...filesIn(root, 'web'),
    ...filesIn(root, 'docs'),
  ]) {
    digest.update(`${file}\n`).update(readFileSync(join(root, file)));
  }
  return digest.digest('hex');
}

/** Folders by how their path ends: pages of the dashboard may have such a name, too. */
const notSources = ['/node_modules', '/.vitepress/cache'];

function filesIn(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (!entry.isDirectory()) return [path];
      return entry.name.startsWith('dist') || notSources.some((end) => path.endsWith(end)) ? [] : filesIn(root, path);
    });
}
