// Test files that share a process: each takes a second of a core to load what the ones before it have loaded.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Folders whose files start or measure a world of their own, or need too little of the gateway to load it. */
const apart =
  /^(src|test\/(browser|bundle|conformance|deploy|docs|engines|gates|processes|telemetry|vector-conformance))\//;
/** Marks of a file that changes or measures its whole process, or needs programs that take the cores for themselves. */
const wantsAProcess =
  /\bmock\.|process\.(on|once|chdir|env\.\w+ *=(?!=)|env\[|memoryUsage|cpuUsage|getActive)|memoryUsage|eventLoopUtilization|monitorEventLoopDelay|busyness|slowness|assertWithin|performance\.now|(?<!postgres|redis|chromium|s3|engine|Part)Missing\b|missingTool|setup:test-tools|alone in its process/;
/** When to give up, and a clock for something else: what they read says nothing of the machine. */
const deadlines = /performance\.now\(\) (\+ [\d_]+|< \w+Ms\b)|monotonicMs: \(\) => performance\.now\(\)/g;
const filesAGroup = 16;
/** Tests wait for half of their time: meanwhile another file's go on. */
const filesAtOnce = 2;

/** They share a browser, which takes as long to start as a page's tests. One after the other: it shows one page in front. */
const inBrowser = /^test\/browser\//;
/** Unit tests load little, and wait for nothing. */
const unitFilesAGroup = 64;

/**
 * Makes the list that `node --test` runs for `files`, paths below `root`: groups of those that may share a process, as
 * programs in `folder` that import them, then the others. `units`: files that may, one after the other. `members`: the files of each
 * group, by the path of its program.
 */
export function groupsOf(files, root, folder, units, filesMax = filesAGroup) {
  const members = new Map();
  const together = files.filter((file) => !units.has(file) && mayShare(file, root));
  group('suites', together, filesMax, filesAtOnce);
  const alike = files.filter((file) => units.has(file));
  group('units', alike, unitFilesAGroup, 1);
  const browsers = files.filter((file) => inBrowser.test(file) && !measures(file, root));
  group('browsers', browsers, filesMax, 1, ['test/browser/open-page.ts']);
  const alone = files.filter((file) => !units.has(file) && !together.includes(file) && !browsers.includes(file));
  return { paths: [...members.keys(), ...alone], members };

  /** All of the same size, so that no process is made for a few. `first` is loaded before them, so its hooks are of all. */
  function group(kind, its, filesMax, atOnce, first = []) {
    const size = Math.ceil(its.length / Math.ceil(its.length / filesMax));
    for (let at = 0; at < its.length; at += size) {
      const some = its.slice(at, at + size);
      const name = `${kind}-${String(at / size).padStart(2, '0')}-from-${dirname(some[0]).replaceAll('/', '-')}`;
      const program = join(folder, `${name}.test.mjs`);
      writeFileSync(program, programOf(some, root, atOnce, first));
      members.set(program, some);
    }
  }
}

function mayShare(file, root) {
  return file.startsWith('test/') && !apart.test(file) && !measures(file, root);
}

function measures(file, root) {
  return wantsAProcess.test(textOf(file, root).replaceAll(deadlines, ''));
}

function textOf(file, root) {
  return readFileSync(join(root, file), 'utf8');
}

/** Each file is a suite, so its hooks are of its own tests, and what it started ends with them. */
function programOf(files, root, atOnce, first) {
  const urlOf = (file) => JSON.stringify(String(pathToFileURL(join(root, file))));
  const suites = files.map((file) => {
    return `  await new Promise((there) => describe(${JSON.stringify(file)}, inTurn, () => import(${urlOf(file)}).finally(there)));`;
  });
  return [
    `import { describe } from 'node:test';`,
    ...first.map((file) => `import ${urlOf(file)};`),
    'const inTurn = { concurrency: 1 };',
    `describe('files', { concurrency: ${atOnce} }, async () => {`,
    ...suites,
    '});',
    '',
  ].join('\n');
}
