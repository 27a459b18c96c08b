// `npm test`: what `npm run check` does, then every other suite, four processes at a time on two cores (TEST_PROCESSES). `npm test -- PATTERN…`
// runs only the test files whose path holds a pattern; `--names` prints the name of each test,
// `--times` the thirty files that took most of the processor at the end, `--apart` gives each file a process. Without a pattern each property tries
// a tenth of its cases, or 25; `--full` all of them.
// `npm run test:long`: the files that `npm test` leaves out, since it ends within fifteen minutes: `*.long.test.ts`.
// `npm run test:processes`: the files that start gateways, each gateway with two processes over its embedded storage.
// `npm run test:fuzz`: the files with properties alone, with a new seed and ten times the cases.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureWeb } from './build-web.mjs';
import { checkSources, part, quickTests, someCases } from './check.mjs';
import { memoryFolder } from './memory-folder.mjs';
import { sourceStamp } from './source-stamp.mjs';
import { watchForStuck } from './stuck-tests.mjs';
import { groupsOf } from './test-groups.mjs';
import { failedFiles, linesOf, reporters, testEnvironment, testOptions } from './test-options.mjs';
import { slowest } from './test-times.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [fuzz, long, processes, names, times, apart, full] = [
  '--fuzz',
  '--long',
  '--processes',
  '--names',
  '--times',
  '--apart',
  '--full',
].map((option) => process.argv.includes(option));
const patterns = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const everything = patterns.length === 0 && !fuzz && !long && !processes;
/** Gateways, and what of one only its own process can reach. */
const [gateways, insideOfOne] = [
  /startGateway(Process)?\(|serve\(/,
  /\.(useLocals|reconfigure)\(|\.(snapshots|routes)\b/,
];
const starter = join('test', 'start-gateway.ts');
/** Helpers of tests, and whether they start gateways. */
const starting = new Map();
/**
 * Programs of tests at once, unless TEST_PROCESSES is another number. Tests wait for about half of their time: for
 * leases, timeouts and pages. A gateway of several processes is four.
 */
const filesAtOnce = Number(process.env.TEST_PROCESSES ?? availableParallelism() * (processes ? 1 : 2));
/** The bundle's threads stand for those of the sources, where it is what the sources say. */
const bundledThreads = `--import=${new URL('./bundled-threads.mjs', import.meta.url)}`;
/** For a test that hangs: on a busy machine some take minutes. */
const testTimeoutMs = 600_000;
/** For a process that hangs before or behind its tests, or keeps its thread: the longest take three minutes. */
const processTimeoutMs = everything ? 900_000 : 7_200_000;
// More files than this are not tests that found no peace, nor two groups of which one hung, but a change that breaks things.
const secondLookFilesMax = 40;

// Every process that they start takes half as long from the bundle.
const building = everything || long || processes ? build() : null;
const wrong = everything ? await checkSources() : [];
if (wrong.length > 0 || (await building)?.passed === false) process.exit(1);
const files = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root })
  .filter((file) => patterns.length === 0 || patterns.some((pattern) => file.includes(pattern)))
  .filter((file) => !everything || !file.endsWith('.long.test.ts'))
  .filter((file) => !processes || long || !file.endsWith('.long.test.ts'))
  .filter((file) => !processes || runsOverProcesses(file))
  .filter((file) => !long || file.endsWith('.long.test.ts'))
  .filter((file) => !fuzz || textOf(file).includes('fast-check'))
  .sort();
if (processes) {
  const inside = globSync('test/**/*.test.ts', { cwd: root }).filter(
    (file) => startsGateways(file) && insideOfOne.test(textOf(file)),
  );
  console.log(
    `Not over processes, as they reach into a gateway of their own process:\n  ${inside.sort().join('\n  ')}`,
  );
}
if (files.length === 0) {
  console.error(`No test file matches ${patterns.join(', ')}.`);
  process.exit(1);
}

// Once, not by each of the files that open pages. It makes its process one of production, so the environment comes first.
const usual = testEnvironment();
if (building === null && files.some((file) => file.includes('test/browser/'))) await ensureWeb();
const inMemory = memoryFolder();
const environment = {
  ...usual,
  ...(inMemory !== null && { TMPDIR: inMemory }),
  // For the programs that tests start: each would look at all sources.
  ...(building !== null && { CULVERT_SOURCES: `${root} ${sourceStamp(root)}` }),
  ...(fuzz && {
    FC_SEED: process.env.FC_SEED ?? String(Math.trunc(Math.random() * 2 ** 31)),
    FC_RUNS: process.env.FC_RUNS ?? '1000',
  }),
  ...(everything && !full && someCases),
  ...(processes && { CULVERT_TEST_PROCESSES: process.env.CULVERT_TEST_PROCESSES ?? '2' }),
};
const notes = mkdtempSync(join(tmpdir(), 'culvert-test-'));
const failedList = join(notes, 'failed.json');
const failedProcesses = join(notes, 'failed.txt');
const stuckList = join(notes, 'stuck.txt');
const timesList = join(notes, 'times.jsonl');

/** Builds dist/, where it is not what the sources say, in a process of its own. */
function build() {
  return part('build', process.execPath, [join(root, 'scripts', 'build.mjs'), '--where-stale']);
}

function textOf(file) {
  return readFileSync(join(root, file), 'utf8');
}

/** Itself, or by helpers of tests that it imports. */
function startsGateways(file) {
  return gateways.test(textOf(file)) || helpersOf(file).some(helperStarts);
}

function helperStarts(path) {
  // A helper that imports itself through others is not asked again.
  if (!starting.has(path)) {
    starting.set(path, false);
    starting.set(path, /startGateway(Process)?\(/.test(textOf(path)) || helpersOf(path).some(helperStarts));
  }
  return starting.get(path);
}

function helpersOf(file) {
  const paths = [...textOf(file).matchAll(/ from '(\.[^']+)'/g)].map(([, path]) => join(dirname(file), path));
  return paths.filter((path) => path.startsWith('test/') && path !== starter && existsSync(join(root, path)));
}

/** Gates count what one process does. */
function runsOverProcesses(file) {
  return !file.startsWith(join('test', 'gates')) && startsGateways(file) && !insideOfOne.test(textOf(file));
}

async function run(paths, concurrency) {
  const runner = spawn(
    process.execPath,
    [
      `--test-concurrency=${concurrency}`,
      ...testOptions(fuzz ? 1_800_000 : testTimeoutMs),
      ...(building === null ? [] : [bundledThreads]),
      ...reporters(names),
      ...paths,
    ],
    {
      cwd: root,
      stdio: 'inherit',
      env: {
        ...environment,
        FAILED_FILES: failedList,
        FAILED_PROCESSES: failedProcesses,
        STUCK_PROCESSES: stuckList,
        ...(!names && { TEST_DOTS: '1' }),
        ...(times && { TEST_TIMES: timesList }),
      },
    },
  );
  const watched = watchForStuck(runner.pid, processTimeoutMs, (argument, busyS) => {
    const program = resolve(root, argument);
    const said = linesOf(stuckList).findLast((line) => line.startsWith(program));
    const waiting = said ?? `${program}: its thread does not answer, and took ${busyS.toFixed(1)} s of CPU in 3 s`;
    console.log(`\nStopped, as it did not end in ${processTimeoutMs / 60_000} min: ${waiting}`);
    appendFileSync(failedProcesses, `${program}\n`);
  });
  const [status] = await once(runner, 'exit');
  watched();
  return status ?? 1;
}

/** Test files below the root; of a group whose process broke off, all of them. */
function filesThatFailed() {
  const filesOf = (path) => members.get(path) ?? [relative(root, path)];
  const named = failedFiles(failedList).flatMap(filesOf);
  // A test that a file beside it made carries that one's name, which cannot be run by itself: its process can.
  const isNamed = named.every((file) => files.includes(file));
  // Of a group whose failure has a name, the others need no second look.
  const hasName = (its) => its.some((file) => named.includes(file));
  const broken = isNamed
    ? []
    : linesOf(failedProcesses)
        .map(filesOf)
        .filter((its) => !hasName(its))
        .flat();
  return [...new Set([...named, ...broken])].filter((file) => files.includes(file));
}

const units = new Set(quickTests({ slow: true }));
const { paths, members } = apart || fuzz ? { paths: files, members: new Map() } : groupsOf(files, root, notes, units);
let status = await run(paths, filesAtOnce);
const failed = filesThatFailed();
if (status !== 0 && !fuzz && failed.length > 0 && failed.length <= secondLookFilesMax) {
  // Tests with real processes share two cores; one that failed for that alone passes by itself, and counts as passed.
  console.log(`\nA second look at what failed above, by itself:\n  ${failed.join('\n  ')}`);
  status = await run(failed, 1);
  const verdict =
    status === 0
      ? 'All of them passed by themselves and count as passed: the tests that failed above need mending.'
      : 'What failed again is above, below the line "A second look".';
  console.log(`\n${verdict}`);
}
if (times) console.log(`\n${slowest(readFileSync(timesList, 'utf8'), root).join('\n')}`);
if (fuzz) console.log(`seed ${environment.FC_SEED}: FC_SEED=${environment.FC_SEED} npm run test:fuzz runs it again`);
for (const folder of [notes, inMemory]) if (folder !== null) rmSync(folder, { recursive: true, force: true });
console.log(status === 0 ? '\nnpm test: passed' : '\nnpm test: failed');
process.exit(status === 0 ? 0 : 1);
