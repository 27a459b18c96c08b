// Test files that share a process: each takes a second of a core to load what the ones before it have loaded.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Folders whose files start or measure a world of their own, or need too little of the gateway to load it. */
const apart =
  /^(src|test\/(browser|bundle|conformance|deploy|docs|engines|gates|processes|telemetry|vector-conformance))\//;
/** What a file does to its whole process, measures of it, or needs beside it: programs that take the cores for themselves. */
const wantsAProcess =
  /\bmock\.|process\.(on|once|chdir|env\.\w+ *=|env\[|memoryUsage|cpuUsage|getActive)|memoryUsage|eventLoopUtilization|monitorEventLoopDelay|busyness|slowness|assertWithin|performance\.now|(?<!postgres|redis)Missing\b|missingTool|setup:test-tools|alone in its process/;
const filesAGroup = 16;
/** Tests wait for half of their time: meanwhile another file's go on. */
const filesAtOnce = 2;

/** Unit tests load little, and wait for nothing. */
const unitFilesAGroup = 64;

/**
 * What `node --test` runs for `files`, paths below `root`: groups of those that may share a process, as programs in
 * `folder` that import them, then the others. `units`: files that may, one after the other. `members`: the files of each
 * group, by the path of its program.
 */
export function groupsOf(files, root, folder, units) {
  const members = new Map();
  const together = files.filter((file) => !units.has(file) && mayShare(file, root));
  group('suites', together, filesAGroup, filesAtOnce);
  const alike = files.filter((file) => units.has(file));
  group('units', alike, unitFilesAGroup, 1);
  const alone = files.filter((file) => !units.has(file) && !together.includes(file));
  return { paths: [...members.keys(), ...alone], members };

  /** All of the same size, so that no process is made for a few. */
  function group(kind, its, filesMax, atOnce) {
    const size = Math.ceil(its.length / Math.ceil(its.length / filesMax));
    for (let at = 0; at < its.length; at += size) {
      const some = its.slice(at, at + size);
      const name = `${kind}-${String(at / size).padStart(2, '0')}-from-${dirname(some[0]).replaceAll('/', '-')}`;
      const program = join(folder, `${name}.test.mjs`);
      writeFileSync(program, programOf(some, root, atOnce));
      members.set(program, some);
    }
  }
}

function mayShare(file, root) {
  return file.startsWith('test/') && !apart.test(file) && !wantsAProcess.test(readFileSync(join(root, file), 'utf8'));
}

/** Each file is a suite, so its hooks are of its own tests, and what it started ends with them. */
function programOf(files, root, atOnce) {
  const suites = files.map((file) => {
    const url = JSON.stringify(String(pathToFileURL(join(root, file))));
    return `  await new Promise((there) => describe(${JSON.stringify(file)}, inTurn, () => import(${url}).finally(there)));`;
  });
  return [
    `import { describe } from 'node:test';`,
    'const inTurn = { concurrency: 1 };',
    `describe('files', { concurrency: ${atOnce} }, async () => {`,
    ...suites,
    '});',
    '',
  ].join('\n');
}
