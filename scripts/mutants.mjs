// `npm run mutants -- N`: changes N random places of `src`, one at a time, in a copy of the last commit, and runs the tests
// that are nearest to each. Prints what the tests noticed (killed) and what they did not (survived).
// `--seed=NUMBER` repeats a run, `--in=PATTERN` keeps to files whose path holds it, `--tests=M` runs more files for each.
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';
import { testEnvironment, testOptions } from './test-options.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const option = (name, otherwise) =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3) ?? otherwise;
const count = Number(process.argv[2] ?? 10);
const seed = Number(option('seed', Math.trunc(Math.random() * 2 ** 31)));
const pattern = option('in', '');
const testFilesMax = Number(option('tests', 12));
const testTimeoutMs = 120_000;
/** A mutant may make a file hang. */
const fileTimeoutMs = 300_000;
const far = 9;

/** Tests over HTTP import a whole gateway: these are of a room, below `test/`. */
const testsOfRooms = [
  ['src/admin', ['admin', 'dashboard', 'variants', 'prompts', 'clients/scim']],
  ['src/books/auth', ['admin', 'stores/account', 'contract', 'faults/token', 'faults/guest']],
  ['src/cli', ['cli', 'providers', 'library', 'processes']],
  ['src/config', ['cli/check', 'docs', 'admin', 'faults/reload', 'guards']],
  ['src/guards', ['guards', 'contract']],
  ['src/hooks', ['hooks', 'steps']],
  ['src/rules', ['routes']],
  ['src/library', ['library', 'bundle']],
  ['src/processes', ['processes', 'faults/processes', 'faults/worker']],
  ['src/engines', ['engines', 'contract', 'faults']],
  ['src/http/routes/files', ['batches', 'clients', 'contract']],
  ['src/http/routes', ['contract', 'clients', 'conversion', 'faults', 'responses', 'tools']],
  ['src/http', ['contract', 'faults', 'dashboard']],
  ['src/formats/dialects', ['conversion', 'contract', 'clients', 'prompt-cache', 'recorded']],
  ['src/formats/providers', ['contract', 'providers']],
  ['src/inference/families/responses', ['responses', 'contract/design-6-responses', 'clients/openai-responses']],
  ['src/inference/batches', ['batches']],
  ['src/inference/cache', ['cache']],
  ['src/inference/guards', ['guards']],
  ['src/inference/hooks', ['hooks']],
  ['src/inference/vector-stores', ['clients', 'stores/vector']],
  ['src/inference/families/realtime', ['contract', 'clients', 'faults', 'conversion']],
  ['src/inference/families', ['contract', 'clients', 'faults', 'conversion']],
  ['src/inference/models', ['contract', 'providers', 'admin', 'variants', 'routes', 'steps', 'prompt-cache', 'faults']],
  ['src/routing', ['simulation', 'faults/failover', 'faults/availability', 'faults/replica-hints']],
  ['src/inference/server-tools', ['server-tools']],
  ['src/upstream/transport', ['faults/abort', 'faults/streams', 'contract']],
  ['src/inference/spine', ['contract', 'faults', 'steps', 'guards', 'variants', 'prompts']],
  ['src/inference', ['contract', 'faults', 'steps', 'variants', 'prompts']],
  ['src/books/ledger', ['stores/ledger']],
  ['src/main', ['faults/process', 'cli']],
  ['src/tools/mcp', ['clients/mcp', 'tools', 'faults', 'contract']],
  [
    'src/books/metering',
    ['stores/ledger-quota', 'stores/counter', 'simulation/metering', 'faults/refused', 'contract'],
  ],
  ['src/observe', ['telemetry']],
  ['src/stores/postgres', ['stores', 'faults/postgres']],
  ['src/stores/redis', ['stores', 'faults/redis']],
  ['src/stores', ['stores']],
  ['src/tools', ['tools', 'contract']],
  ['src/vectors', ['faults/vector', 'clients/vector', 'property', 'contract/vector']],
  ['src/net', ['tools', 'faults/security']],
];

const random = seeded(seed);
const files = globSync('src/**/*.ts', { cwd: root, exclude: ['src/simulator/**'] })
  .filter((file) => !/\.(test|fixture|d)\.ts$/.test(file) && file.includes(pattern))
  .sort();
const mutants = files.flatMap((file) => mutantsOf(file, readFileSync(join(root, file), 'utf8')));
if (mutants.length === 0) {
  console.error(`No place of src/ can be changed in files that hold '${pattern}'.`);
  process.exit(1);
}
const tests = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root }).sort();
const imported = new Map();
const copy = join(mkdtempSync(join(tmpdir(), 'culvert-mutants-')), 'copy');
const passesUnchanged = new Map();

git('worktree', 'add', '--quiet', '--detach', copy, 'HEAD');
process.on('exit', () => {
  git('worktree', 'remove', '--force', copy);
  rmSync(dirname(copy), { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));

console.log(`seed ${seed}: ${mutants.length} places in ${files.length} files`);
const found = { killed: 0, survived: 0 };
while (found.killed + found.survived < count && mutants.length > 0) {
  const [mutant] = mutants.splice(Math.floor(random() * mutants.length), 1);
  const verdict = judge(mutant);
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
function judge({ file, start, end, text }) {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  // The copy is the last commit; the places are of the tree.
  if (source !== readFileSync(join(root, file), 'utf8')) return null;
  const ran = [];
  try {
    for (const testFile of nearestTests(file)) {
      if (!passesWithout(testFile)) continue;
      writeFileSync(path, source.slice(0, start) + text + source.slice(end));
      ran.push(testFile);
      if (!passes(testFile)) return { by: testFile, ran };
      writeFileSync(path, source);
    }
  } finally {
    writeFileSync(path, source);
  }
  return ran.length === 0 ? null : { by: null, ran };
}

function passesWithout(testFile) {
  if (!passesUnchanged.has(testFile)) passesUnchanged.set(testFile, passes(testFile));
  return passesUnchanged.get(testFile);
}

function passes(testFile) {
  const { status } = spawnSync(process.execPath, [...testOptions(testTimeoutMs), testFile], {
    cwd: copy,
    stdio: 'ignore',
    timeout: fileTimeoutMs,
    killSignal: 'SIGKILL',
    env: testEnvironment({ FC_RUNS: '25', FC_SHARE: '0.1' }),
  });
  return status === 0;
}

/** Those in `src` by how few imports lead to the file, then those of its room. */
function nearestTests(file) {
  const near = tests
    .filter((one) => one.startsWith('src/'))
    // What stands beside it is about it, though it may reach it over more imports.
    .map((one) => [one, distance(one, file) - (dirname(one) === dirname(file) ? 1.5 : 0)])
    .filter(([, steps]) => steps <= 3)
    .sort((a, b) => a[1] - b[1])
    .map(([one]) => one);
  const places = testsOfRooms.find(([room]) => file.startsWith(`${room}/`))?.[1] ?? ['contract'];
  const ofRoom = tests.filter(
    (one) => !one.endsWith('.long.test.ts') && places.some((place) => one.startsWith(`test/${place}`)),
  );
  // Those that import the file themselves first, then those whose names speak of the same things.
  const words = wordsOf(file);
  const shared = (one) => [...wordsOf(one)].filter((word) => words.has(word)).length;
  const imports = (one) => distance(one, file) <= 1;
  ofRoom.sort(
    (a, b) => Number(imports(b)) - Number(imports(a)) || shared(b) - shared(a) || distance(a, file) - distance(b, file),
  );
  const half = Math.ceil(testFilesMax / 2);
  const first = near.slice(0, Math.max(half, testFilesMax - ofRoom.length));
  return [...first, ...ofRoom.slice(0, testFilesMax - first.length)];
}

/** Words of a path below its room, without plural forms. */
function wordsOf(file) {
  const path = file.replace(/^(src|test)\//, '').replace(/(\.long)?(\.test)?\.ts$/, '');
  return new Set(path.split(/[/.-]/).map((word) => word.replace(/s$/, '')));
}

/** How many imports lead from one file to another, at most four; `far`: none. */
function distance(from, to) {
  let edge = [from];
  const seen = new Set(edge);
  for (let steps = 0; steps <= 4; steps++) {
    if (seen.has(to)) return steps;
    edge = edge.flatMap(importsOf).filter((one) => !seen.has(one));
    for (const one of edge) seen.add(one);
  }
  return far;
}

function importsOf(file) {
  if (!imported.has(file)) {
    const text = readFileSync(join(root, file), 'utf8');
    const paths = [...text.matchAll(/^(?:import|export)\b(?! type)[^;]*? from '(\.[^']+\.ts)'/gm)];
    imported.set(
      file,
      paths.map(([, path]) => relative(root, resolve(root, dirname(file), path))),
    );
  }
  return imported.get(file);
}

/** Places of a file that can be changed: which characters by what. */
function mutantsOf(file, source) {
  const all = [];
  const add = (node, text, what) => all.push({ file, start: node.start, end: node.end, text, what, source });
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
      add({ start: at, end: at + node.operator.length }, swapped[node.operator], 'operator changed');
    }
    if (node.type === 'ExpressionStatement' && !isMessage(of(node)) && node.directive == null)
      add(node, ';', 'statement dropped');
    if (node.type === 'AwaitExpression') add(node, `(${of(node.argument)})`, 'await dropped');
    if (node.type === 'Literal' && typeof node.value === 'number')
      add(node, String(changed(node.value)), 'number changed');
    if (node.type === 'Literal' && typeof node.value === 'boolean') add(node, String(!node.value), 'truth changed');
    if (/Function/.test(node.type) && node.body?.type === 'BlockStatement' && node.body.body.length > 1)
      add({ start: node.body.start, end: node.body.start + 1 }, '{ return;', 'returned early');
    return true;
  });
  return all;
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
