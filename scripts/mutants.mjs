// `npm run mutants -- N`: changes N random places of `src`, one at a time, in a copy of the last commit, and runs the ten
// test files that are nearest to each, until one fails. Prints what the tests noticed (killed) and what they did not
// (survived). A file has 75 seconds, and up to four times as long where others use the machine. One that fails counts if
// it fails by itself too, and passes without the change; otherwise it is left out, which is said. Files of
// `src/processes` are tried by gateways of two processes. `--seed=NUMBER` repeats a run, `--in=PATTERN` keeps to files
// whose path holds it. `--notes` first notes which places each test file runs, where that is not noted yet; it takes half
// an hour. Files that do not run a place are then not asked about it.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';
import { faultsOfTable, nearestTests, testFiles } from './nearest-tests.mjs';
import { openRunNotes } from './run-notes.mjs';
import { groupsOf } from './test-groups.mjs';
import { testEnvironment, testOptions } from './test-options.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const option = (name, otherwise) =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3) ?? otherwise;
const count = Number(process.argv[2] ?? 10);
const seed = Number(option('seed', Math.trunc(Math.random() * 2 ** 31)));
const pattern = option('in', '');
const testFilesMax = 10;
/** A mutant may make a file hang, or take all memory: then the file is ended, and has failed. */
const fileTimeoutMs = 75_000;
/** Where others use the machine, files take longer: those that had no time would count as if they had noticed nothing. */
const loadFactorMax = 4;
/** Test files of one process, whose coverage is that of each of them. */
const notedTogether = 4;
const noteTimeoutMs = 300_000;
const fileMemoryMbMax = 3_000;
const filesAtOnce = availableParallelism();

const random = seeded(seed);
const files = globSync('src/**/*.ts', { cwd: root, exclude: ['src/simulator/**'] })
  .filter((file) => !/\.(test|fixture|d)\.ts$/.test(file))
  .sort();
const all = files.flatMap((file) => mutantsOf(file, readFileSync(join(root, file), 'utf8')));
const notes = openRunNotes(root, all);
const mutants = all.filter(({ file }) => file.includes(pattern));
if (mutants.length === 0) {
  console.error(`No place of src/ can be changed in files that hold '${pattern}'.`);
  process.exit(1);
}
for (const fault of faultsOfTable(files)) console.log(`scripts/nearest-tests.mjs: ${fault}`);
const copy = join(mkdtempSync(join(tmpdir(), 'culvert-mutants-')), 'copy');
const passesUnchanged = new Map();

git('worktree', 'add', '--quiet', '--detach', copy, 'HEAD');
process.on('exit', () => {
  git('worktree', 'remove', '--force', copy);
  rmSync(dirname(copy), { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
for (const link of ['node_modules', '.test-tools']) symlinkSync(join(root, link), join(copy, link));

if (process.argv.includes('--notes')) await noteRuns();
console.log(`seed ${seed}: ${mutants.length} places in ${new Set(mutants.map(({ file }) => file)).size} files`);
const found = { killed: 0, survived: 0 };
while (found.killed + found.survived < count && mutants.length > 0) {
  const [mutant] = mutants.splice(Math.floor(random() * mutants.length), 1);
  const verdict = await judge(mutant);
  if (verdict === null) continue;
  found[verdict.by === null ? 'survived' : 'killed'] += 1;
  console.log(
    verdict.by === null
      ? `\nsurvived ${verdict.ran.length} files of tests: ${shown(mutant)}\n  ${verdict.ran.join('\n  ')}`
      : `\nkilled by ${verdict.by}: ${shown(mutant)}`,
  );
}
console.log(`\n${found.killed} killed, ${found.survived} survived; seed ${seed}`);

/** The file of tests that noticed it, or null with those that did not; null where no test passes without it. */
async function judge({ file, start, end, text, seenAt }) {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  // The copy is the last commit; the places are of the tree.
  if (source !== readFileSync(join(root, file), 'utf8')) return null;
  const environment = file.startsWith('src/processes/') ? { CULVERT_TEST_PROCESSES: '2' } : {};
  const nearest = nearestTests(file, testFilesMax);
  const runs = (test) => notes.runs(test, file, seenAt);
  const running = nearestTests(file, testFilesMax, (test) => runs(test) ?? nearest.includes(test));
  // Threads and processes that are ended by force leave no note, nor do threads with an environment of their own.
  const left = running.some(runs) ? running : nearest;
  const ran = [];
  while (left.length > 0) {
    const together = left.slice(0, filesAtOnce);
    let red;
    writeFileSync(path, source.slice(0, start) + text + source.slice(end));
    try {
      red = await firstRed(together, environment);
      // It may have failed for those beside it.
      if (red !== null && (await firstRed([red], environment)) === null) {
        ran.push(...left.splice(left.indexOf(red), 1));
        continue;
      }
    } finally {
      writeFileSync(path, source);
    }
    if (red === null) ran.push(...left.splice(0, together.length));
    else if (await passesWithout(red, environment)) return { by: red, ran };
    else left.splice(left.indexOf(red), 1);
  }
  return ran.length === 0 ? null : { by: null, ran };
}

/** Runs the test files that have no note, some of them in one process. */
async function noteRuns() {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-run-groups-'));
  const unnoted = testFiles.filter((test) => !notes.has(test));
  const isUnit = (test) => test.startsWith('src/');
  const others = unnoted.filter((test) => !isUnit(test));
  const { paths, members } = groupsOf(others, root, folder, new Set(), notedTogether);
  paths.push(...unnoted.filter(isUnit));
  console.log(`${unnoted.length} test files without a note of what they run`);
  const worker = async () => {
    for (let path = paths.shift(); path !== undefined; path = paths.shift()) {
      const coverage = mkdtempSync(join(folder, 'coverage-'));
      const { group, passes } = started(path, { NODE_V8_COVERAGE: coverage }, { cwd: root, timeoutMs: noteTimeoutMs });
      await passes;
      await groupEnded(group);
      notes.add(members.get(path) ?? [path], coverage);
      rmSync(coverage, { recursive: true, force: true });
    }
  };
  await Promise.all(Array.from({ length: filesAtOnce }, worker));
  rmSync(folder, { recursive: true, force: true });
}

async function passesWithout(testFile, environment) {
  const key = `${testFile} ${JSON.stringify(environment)}`;
  if (!passesUnchanged.has(key)) {
    const passes = async () => (await firstRed([testFile], environment)) === null;
    passesUnchanged.set(key, (await passes()) || (await passes()));
    if (!passesUnchanged.get(key)) console.log(`\nleft out, as it fails without a change: ${testFile}`);
  }
  return passesUnchanged.get(key);
}

/** The first of the files to fail, which ends the others; null if all pass. */
async function firstRed(testFiles, environment) {
  const runs = testFiles.map((testFile) => started(testFile, environment));
  try {
    return await Promise.any(runs.map(async (run, at) => ((await run.passes) ? Promise.reject() : testFiles[at])));
  } catch {
    return null;
  } finally {
    for (const { group } of runs) endGroup(group);
  }
}

function started(testFile, environment, { cwd = copy, timeoutMs = Math.round(fileTimeoutMs * loadFactor()) } = {}) {
  const run = spawn(process.execPath, [...testOptions(timeoutMs), testFile], {
    cwd,
    stdio: 'ignore',
    // A group of its own: what it has started ends with it.
    detached: true,
    env: testEnvironment({ FC_RUNS: '25', FC_SHARE: '0.1', ...environment }),
  });
  const untilMs = Date.now() + timeoutMs;
  const looks = setInterval(() => {
    if (Date.now() > untilMs || memoryMbOf(run.pid) > fileMemoryMbMax) endGroup(run.pid);
  }, 500);
  const passes = once(run, 'exit').then(([status]) => {
    clearInterval(looks);
    return status === 0;
  });
  return { group: run.pid, passes };
}

function loadFactor() {
  return Math.min(loadFactorMax, Math.max(1, loadavg()[0] / availableParallelism()));
}

/** Processes that end by themselves write what they ran. */
async function groupEnded(group) {
  for (let looks = 0; looks < 100 && isThere(group); looks++) await pause(50);
  endGroup(group);
}

function isThere(group) {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
}

function endGroup(group) {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // Nothing of it is left.
  }
}

/** Resident memory of a group of processes in MB; 0 where there is no /proc. */
function memoryMbOf(group) {
  let pages = 0;
  for (const path of globSync('/proc/[0-9]*/stat')) {
    try {
      // The name in parentheses may hold blanks.
      const fields = readFileSync(path, 'latin1').split(') ').at(-1).split(' ');
      if (Number(fields[2]) === group) pages += Number(fields[21]);
    } catch {
      // It has ended.
    }
  }
  return (pages * 4_096) / 1e6;
}

/** Places of a file that can be changed: which characters by what. */
function mutantsOf(file, source) {
  const places = [];
  const add = (node, text, what, seenAt = node.start) =>
    places.push({ file, start: node.start, end: node.end, text, what, source, seenAt });
  const of = ({ start, end }) => source.slice(start, end);
  const swapped = { '<': '<=', '<=': '<', '>': '>=', '>=': '>', '===': '!==', '!==': '===', '&&': '||', '||': '&&' };
  visit(parseAst(source, { lang: 'ts' }), (node) => {
    if (/^TS(?!As|NonNull|Satisfies)/.test(node.type) || node.type === 'ImportDeclaration') return false;
    if (node.type === 'ThrowStatement' || node.type === 'TemplateLiteral') return false;
    if (node.type === 'IfStatement' || node.type === 'ConditionalExpression')
      add(node.test, `!(${of(node.test)})`, 'condition negated');
    if ((node.type === 'BinaryExpression' || node.type === 'LogicalExpression') && swapped[node.operator]) {
      const gap = source.slice(node.left.end, node.right.start);
      const at = node.left.end + gap.indexOf(node.operator);
      add({ start: at, end: at + node.operator.length }, swapped[node.operator], 'operator changed', node.left.start);
    }
    if (node.type === 'ExpressionStatement' && !isMessage(of(node)) && node.directive == null)
      add(node, ';', 'statement dropped');
    if (node.type === 'AwaitExpression') add(node, `(${of(node.argument)})`, 'await dropped');
    if (node.type === 'Literal' && typeof node.value === 'number')
      add(node, String(changed(node.value)), 'number changed');
    if (node.type === 'Literal' && typeof node.value === 'boolean') add(node, String(!node.value), 'truth changed');
    if (/Function/.test(node.type) && node.body?.type === 'BlockStatement' && node.body.body.length > 1)
      add({ start: node.body.start, end: node.body.start + 1 }, '{ return;', 'returned early', node.body.body[0].start);
    return true;
  });
  return places;
}

/** Large numbers are bounds of memory and time: nobody could see one more. */
function changed(number) {
  return number < 100 ? number + 1 : Math.floor(number / 10);
}

/** Whether a statement only tells people something. */
function isMessage(text) {
  return /\b(log|logger|console|warn|tell|onTrouble|told|describe|report)\b/.test(text);
}

function visit(node, see) {
  if (Array.isArray(node)) for (const one of node) visit(one, see);
  else if (typeof node?.type === 'string' && see(node)) for (const value of Object.values(node)) visitChild(value, see);
}

function visitChild(value, see) {
  if (typeof value === 'object' && value !== null) visit(value, see);
}

function shown({ file, start, end, text, what, source }) {
  const line = source.slice(0, start).split('\n').length;
  const from = source.lastIndexOf('\n', start - 1) + 1;
  const to = source.indexOf('\n', end);
  const before = source.slice(from, to === -1 ? undefined : to);
  const after = source.slice(from, start) + text + source.slice(end, to === -1 ? undefined : to);
  const lines = (sign, body) => body.split('\n').map((one) => `  ${sign} ${one.trim()}`);
  return `${what}\n  ${file}:${line}\n${[...lines('-', before), ...lines('+', after)].join('\n')}`;
}

/** Mulberry32: the same numbers between 0 and 1 for the same seed. */
function seeded(from) {
  let state = from >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function git(...args) {
  execFileSync('git', args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
}
