// Test files that share a process: each takes a second of a core to load what the ones before it have loaded.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Folders whose files start a world of their own, or need too little of the gateway to load it beside others. */
const inTurn = /^(src|test\/(bundle|deploy|docs|engines|processes|telemetry|vector-conformance))\//;
/** Marks of a file that measures time, mocks what its whole process uses, needs programs that take the cores for themselves, or says itself that another in its process disturbs it. */
const wantsPeace =
  /assertWithin|performance\.now|threadCpuUsage|nothing beside it|\bmock\.(getter|method|module|property|setter|timers)\b|(?<!postgres|redis|chromium|s3|engine|Part)Missing\b|missingTool|setup:test-tools/;
/** Folders and marks of files that change or measure their whole process. */
const apart = /^test\/(browser|conformance|gates)\//;
const wantsAProcess =
  /(?<!\.)\bprocess\.(on|once|chdir|env\.\w+ *=(?!=)|env\[|memoryUsage|cpuUsage|getActive)|memoryUsage|eventLoopUtilization|monitorEventLoopDelay|busyness|slowness|alone in its process/;
/** When to give up, and a clock for something else: what they read says nothing of the machine. */
const deadlines = /performance\.now\(\) (\+ [\d_]+|< \w+Ms\b)|monotonicMs: \(\) => performance\.now\(\)/g;
const filesAGroup = 32;
/** Fewer files where they take turns: these wait for most of their time, and a group that began late would end last. */
const turnsAGroup = 24;
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
  const sharing = files.filter((file) => !units.has(file) && !apart.test(file) && !hasMark(file, root, wantsAProcess));
  const takesTurns = (file) => inTurn.test(file) || hasMark(file, root, wantsPeace);
  const beside = sharing.filter((file) => !takesTurns(file));
  const browsers = files.filter((file) => inBrowser.test(file) && !hasMark(file, root, wantsAProcess, wantsPeace));
  const waiting = [
    ...split('browsers', browsers, filesMax, { first: ['test/browser/open-page.ts'] }),
    ...split('in-turn', sharing.filter(takesTurns), Math.min(filesMax, turnsAGroup)),
  ];
  const working = [
    ...split('suites', beside, filesMax, { atOnce: filesAtOnce }),
    ...split('units', [...units].filter((file) => files.includes(file)).sort(), unitFilesAGroup),
  ];
  const members = new Map();
  for (const [at, { kind, some, atOnce = 1, first = [] }] of spread(waiting, working).entries()) {
    // Node runs them by their names.
    const name = `${String(at).padStart(2, '0')}-${kind}-from-${dirname(some[0]).replaceAll('/', '-')}`;
    const program = join(folder, `${name}.test.mjs`);
    writeFileSync(program, programOf(some, root, atOnce, first));
    members.set(program, some);
  }
  const grouped = new Set([...members.values()].flat());
  return { paths: [...members.keys(), ...files.filter((file) => !grouped.has(file))], members };
}

/** Groups of the same size, so that no process is made for a few. `first` is loaded before them, so its hooks are of all. */
function split(kind, files, filesMax, more = {}) {
  const count = Math.ceil(files.length / filesMax);
  const begins = (at) => Math.round((at * files.length) / count);
  return Array.from({ length: count }, (_, at) => ({ kind, some: files.slice(begins(at), begins(at + 1)), ...more }));
}

/** Puts groups that mostly wait, as tests in turn do, among those that work: together they would leave cores idle. */
function spread(waiting, working) {
  const each = Math.ceil(working.length / waiting.length) || 1;
  return [
    ...waiting.flatMap((group, at) => [group, ...working.slice(at * each, (at + 1) * each)]),
    ...working.slice(waiting.length * each),
  ];
}

function hasMark(file, root, ...marks) {
  const text = readFileSync(join(root, file), 'utf8').replaceAll(deadlines, '');
  return marks.some((mark) => mark.test(text));
}

/**
 * Each file is a suite, so its hooks are of its own tests, and what it started ends with them. What it took to load them is
 * there for the next process at once, not when this one ends.
 */
function programOf(files, root, atOnce, first) {
  const urlOf = (file) => JSON.stringify(String(pathToFileURL(join(root, file))));
  const suites = files.map((file) => {
    return `  await new Promise((there) => describe(${JSON.stringify(file)}, inTurn, () => import(${urlOf(file)}).finally(there)));`;
  });
  return [
    `import { flushCompileCache } from 'node:module';`,
    `import { describe } from 'node:test';`,
    ...first.map((file) => `import ${urlOf(file)};`),
    'const inTurn = { concurrency: 1 };',
    `describe('files', { concurrency: ${atOnce} }, async () => {`,
    ...suites,
    '  flushCompileCache();',
    '});',
    '',
  ].join('\n');
}
