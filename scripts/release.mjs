// node scripts/release.mjs 1.2.3: writes the version of CHANGELOG.md's newest section into package.json and the lockfile,
// commits, and tags v1.2.3. Pushing the tag publishes (.github/workflows/release.yml).
// node scripts/release.mjs --notes v1.2.3: prints that section, where package.json says the same version.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { version: current } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const [first = '', tag = ''] = process.argv.slice(2);

if (first === '--notes') {
  if (tag !== `v${current}`) stop(`The tag is ${tag}, but package.json says ${current}.`);
  console.log(sectionOf(current));
} else {
  if (!/^\d+\.\d+\.\d+$/.test(first)) stop('Name the version: node scripts/release.mjs 1.2.3');
  if (first.localeCompare(current, 'en', { numeric: true }) <= 0) stop(`${first} is not above ${current}.`);
  sectionOf(first);
  // It refuses changes that are not committed, and a tag that is there.
  const args = ['version', first, '--ignore-scripts', '--git-tag-version', '--tag-version-prefix=v'];
  const { status } = spawnSync('npm', [...args, '--message', 'release: publish %s'], { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(1);
  console.log(`Publish it: git push --follow-tags`);
}

/** The section of CHANGELOG.md about a version. */
function sectionOf(version) {
  const sections = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').split(/^## /m).slice(1);
  const section = sections.find((text) => text.startsWith(`${version} - `));
  const form = `'## ${version} - YYYY-MM-DD'`;
  if (section === undefined) stop(`CHANGELOG.md has no section ${form}: rename 'Unreleased' and commit.`);
  const [heading, ...lines] = section.split('\n');
  if (!/ - \d{4}-\d{2}-\d{2}$/.test(heading)) stop(`CHANGELOG.md: '## ${heading}' should be ${form}.`);
  const notes = lines.join('\n').trim();
  if (notes === '') stop(`CHANGELOG.md says nothing of ${version}.`);
  return notes;
}

function stop(message) {
  console.error(message);
  process.exit(1);
}
