// Chooses the test files that should notice a change of a file of `src`, for scripts/mutants.mjs.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const usersMax = 3;

/**
 * Tests over HTTP import a whole gateway, so imports do not tell which of them are about a room: these are, below `test/`.
 * The first row that a file lies in counts. Files of `npm run test:long` are asked only where a row names them with their
 * `.long`: most take too long to be asked about each change.
 */
const testsOfRooms = [
  ['src/admin/statements', ['admin/statements', 'stores/statement', 'contract/prices', 'admin']],
  ['src/admin/troubles', ['contract/notices', 'contract/health', 'faults/storage', 'faults/alerts', 'admin']],
  ['src/admin/entries/body-rules', ['contract/kept-bodies', 'admin']],
  [
    'src/admin',
    ['admin', 'contract/notices', 'dashboard', 'variants', 'prompts', 'routes', 'faults/scim', 'responses'],
  ],
  ['src/books/auth', ['admin', 'stores/account', 'stores/session', 'contract', 'faults/dashboard']],
  ['src/books/ledger', ['stores/ledger', 'stores/attempt', 'stores/repricing', 'admin/ledger', 'faults/usage']],
  ['src/books/metering', ['stores/ledger-quota', 'stores/counter', 'property/metering', 'faults/refused', 'contract']],
  ['src/cli/bench', ['cli/bench']],
  ['src/cli/doctor', ['cli/doctor', 'cli/check', 'prompt-cache/doctor', 'cli']],
  ['src/cli/import', ['cli/import']],
  ['src/cli/reference', ['cli/reference', 'docs', 'cli']],
  ['src/cli', ['cli', 'cli/admin-commands.long', 'cli/set-up-commands.long', 'providers', 'docs']],
  ['src/config', ['cli/check', 'cli/reload', 'docs', 'admin', 'faults/mounted', 'faults/torn', 'guards', 'contract']],
  ['src/engines', ['engines', 'contract', 'faults']],
  ['src/formats/neutral/json-texts', ['guards/coverage', 'guards', 'steps', 'conversion']],
  ['src/formats/neutral', ['conversion', 'contract', 'clients', 'steps', 'faults']],
  [
    'src/formats/dialects/bedrock-converse',
    ['contract/bedrock', 'contract/prices', 'clients/bedrock', 'conversion', 'upstream-formats'],
  ],
  ['src/formats/dialects', ['conversion', 'contract', 'clients', 'prompt-cache', 'upstream-formats', 'faults']],
  ['src/formats/media', ['contract', 'clients', 'conversion', 'upstream-formats', 'faults']],
  ['src/formats/providers/services', ['providers', 'contract/upstream-dialects', 'clients/strict-chat']],
  ['src/formats/providers', ['contract', 'providers', 'upstream-formats', 'clients', 'cli/check']],
  ['src/formats', ['conversion', 'contract', 'clients', 'providers']],
  ['src/guards', ['guards', 'contract']],
  ['src/hooks', ['hooks', 'steps', 'cli/hooks']],
  ['src/http/connections', ['faults/stop', 'contract/realtime', 'contract', 'faults', 'dashboard', 'clients']],
  ['src/http/dashboard', ['faults/dashboard', 'browser/login', 'browser/openid', 'browser/saml', 'dashboard', 'admin']],
  ['src/http/routes/files', ['batches', 'clients', 'contract']],
  ['src/http/routes', ['contract', 'clients', 'conversion', 'faults', 'responses', 'tools', 'batches']],
  ['src/http/scim', ['faults/scim', 'admin']],
  ['src/http', ['contract', 'faults', 'dashboard', 'clients']],
  [
    'src/inference/batches/upstream',
    ['batches/upstream-batches.long', 'guards/upstream-batches', 'clients/google-batches-away', 'providers/jobs'],
  ],
  [
    'src/inference/batches',
    [
      'batches',
      'clients/google-batches',
      'clients/google-caches',
      'clients/google-files',
      'guards',
      'faults/silent-batches',
      'providers/jobs',
    ],
  ],
  ['src/inference/cache', ['cache', 'prompt-cache', 'stores/cache']],
  ['src/inference/endpoints', ['contract', 'clients', 'responses', 'providers']],
  ['src/inference/families/chat/server-tools', ['server-tools']],
  [
    'src/inference/families/responses',
    ['responses', 'responses/background.long', 'contract/design-6-responses', 'clients/openai-responses'],
  ],
  ['src/inference/families', ['contract', 'clients', 'faults', 'conversion', 'providers', 'upstream-formats']],
  ['src/inference/guards', ['guards']],
  ['src/inference/hooks', ['hooks', 'steps']],
  ['src/inference/models', ['contract', 'providers', 'admin', 'variants', 'routes', 'steps', 'prompt-cache', 'faults']],
  ['src/inference/server-tools', ['server-tools']],
  ['src/inference/spine/steps', ['guards/elsewhere', 'guards/choices', 'guards', 'steps', 'hooks', 'contract']],
  ['src/inference/spine', ['contract', 'faults', 'steps', 'guards', 'variants', 'prompts', 'routes']],
  ['src/inference/vector-stores', ['clients/openai-vector', 'stores/vector', 'faults/vector', 'server-tools/file']],
  ['src/inference', ['contract', 'faults', 'steps', 'variants', 'prompts', 'clients']],
  ['src/kernel/sharing', ['contract', 'faults', 'cache', 'stores', 'tools', 'server-tools/turns']],
  ['src/kernel', ['contract', 'faults', 'cli', 'clients', 'tools', 'stores']],
  ['src/library', ['library', 'hooks', 'steps']],
  ['src/main', ['cli', 'faults', 'contract', 'hooks', 'library', 'admin/operating']],
  ['src/net', ['tools', 'faults/security', 'faults/sealed', 'clients/mcp', 'hooks', 'cli/secrets']],
  ['src/observe', ['telemetry', 'contract/metrics', 'contract/logged', 'faults/metric', 'faults/target', 'hooks']],
  [
    'src/processes/books',
    ['contract/8-limits', 'faults/login-attempts', 'faults/idempotency', 'admin/keys', 'contract'],
  ],
  ['src/processes/vectors', ['contract/vector', 'contract/4-1', 'admin/vectors', 'contract/hybrid']],
  [
    'src/processes',
    ['cache/joined', 'cli/hang-up', 'contract/reload', 'faults/stop', 'contract/8-limits', 'faults/postgres', 'admin'],
  ],
  [
    'src/routing',
    ['simulation/routing', 'property/routing', 'faults', 'contract/upstream-routes', 'prompt-cache', 'contract'],
  ],
  ['src/rules', ['routes']],
  ['src/stores/accounts', ['stores/account', 'stores/session', 'admin', 'stores']],
  ['src/stores/answers', ['stores/reply', 'stores/response', 'responses', 'faults/idempotency', 'batches']],
  ['src/stores/cache', ['stores/cache', 'cache']],
  ['src/stores/files', ['batches', 'faults/files', 'clients/google-files', 'clients/anthropic-files', 'stores']],
  ['src/stores/ledger', ['stores/ledger', 'stores/attempt', 'stores/repricing', 'admin/ledger', 'stores']],
  ['src/stores/postgres', ['stores', 'faults/postgres', 'faults/keyed-reply', 'faults/own-ids']],
  ['src/stores/redis', ['stores', 'faults/redis']],
  ['src/stores/s3', ['faults/hostile-bucket', 'batches/files']],
  ['src/stores/schema', ['stores', 'cli/upgrade', 'faults/mixed-state']],
  ['src/stores/sqlite', ['stores', 'cli/upgrade', 'cli/backup', 'cli/restore', 'faults/full-disk']],
  ['src/stores/vectors', ['stores/vector', 'faults/vector', 'clients/openai-vector']],
  ['src/stores/web', ['stores/page', 'stores/crawl', 'tools']],
  ['src/stores', ['stores', 'faults/storage', 'batches']],
  ['src/tools/a2a', ['clients/a2a', 'admin/agents']],
  ['src/tools/crawl', ['tools', 'tools/crawl.long', 'clients/firecrawl', 'stores/crawl']],
  ['src/tools/mcp', ['clients/mcp', 'admin/mcp', 'server-tools/mcp', 'faults/hostile-mcp', 'tools', 'contract']],
  ['src/tools/render', ['tools/scrape', 'tools']],
  ['src/tools/search', ['tools/search', 'tools/searxng', 'admin/search', 'server-tools/web-search', 'tools']],
  ['src/tools', ['tools', 'clients/firecrawl', 'server-tools/web', 'contract']],
  [
    'src/upstream/credentials',
    ['cli/secrets', 'upstream-formats', 'faults/refused-credentials', 'contract', 'clients', 'providers'],
  ],
  ['src/upstream', ['faults', 'contract', 'providers/faults', 'clients']],
  [
    'src/vectors',
    [
      'stores/vector',
      'clients/qdrant',
      'clients/openai-vector',
      'admin/vectors',
      'faults/vector',
      'faults/on-filter',
      'faults/security-vectors',
      'contract/vector',
      'contract/4-1',
      'contract/hybrid',
      'contract/qdrant',
      'contract/text-index',
      'contract/embed-for-vectors',
      'contract/reranked',
    ],
  ],
];
/**
 * Tests that hold all that rooms declare against a file: which files they are about, and words that declare something. They
 * have few words of any one of them.
 */
const testsOfDeclarations = [
  ['test/contract/openapi.test.ts', /^src\/(admin|http\/routes|formats|vectors\/wire)\//, /\b[zv]\.\w|[sS]chema/],
  ['test/docs/command-pages.test.ts', /^src\/cli\//, /\bdescription:/],
];
/** They look at sources, the package or pages; a room may name them nevertheless. */
const ofNoRoom = ['browser', 'bundle', 'deploy', 'docs', 'gates'].map((folder) => `test/${folder}/`);

/** Paths of all test files but those long ones that no row names. */
export const testFiles = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root })
  .filter((file) => !file.endsWith('.long.test.ts') || isNamedLong(file))
  .sort();
const imported = new Map();
const distances = new Map();
let importers = null;
let weights = null;

/**
 * At most `count` files, of those that may run what is changed: half of them those in `src` by how few imports lead to the
 * file, then those of declarations, then in turns those like the file and those like its users. Of equals, the file whose words are most alike comes first.
 */
export function nearestTests(file, count, mayRun = () => true) {
  const alike = likenessTo(file);
  const near = testFiles
    .filter((one) => one.startsWith('src/') && mayRun(one))
    .map((one) => [one, nearness(one, file)])
    .filter(([, rank]) => rank <= 3)
    .sort((a, b) => a[1] - b[1] || alike(b[0]) - alike(a[0]))
    .map(([one]) => one)
    .slice(0, Math.ceil(count / 2));
  const users = usersOf(file);
  const likenesses = users.map(likenessTo);
  const byItself = testsOverHttp([file], (one) => (importsOf(one).includes(file) ? 1 : 0) + alike(one));
  const byUsers = testsOverHttp(users, (one) => Math.max(0, ...likenesses.map((alikeToUser) => alikeToUser(one))));
  const declared = testsOfDeclarations.flatMap(([test, files, words]) =>
    files.test(file) && words.test(textOf(file)) ? [test] : [],
  );
  const like = users.length === 0 ? byItself : byItself.flatMap((one, at) => [one, byUsers[at] ?? one]);
  const over = [...new Set([...declared, ...like])];
  return [...near, ...over.filter(mayRun).slice(0, count - near.length)];
}

/** Tests below `test/`. What is much alike elsewhere comes before the tests of a large room that hardly speak of it. */
function testsOverHttp(files, likeness) {
  const named = files.flatMap((file) => rowOf(file)?.[1] ?? []).map((place) => `test/${place}`);
  const isNamed = (one) => named.some((place) => one.startsWith(place));
  /** A row has the whole name of a file whose words are in its helpers. Long files need not come first. */
  const isNamedWhole = (one) => !one.endsWith('.long.test.ts') && named.some((place) => one === `${place}.test.ts`);
  return testFiles
    .filter((one) => one.startsWith('test/'))
    .filter((one) => isNamed(one) || !ofNoRoom.some((folder) => one.startsWith(folder)))
    .map((one) => [one, likeness(one) * (isNamedWhole(one) ? 3 : isNamed(one) ? 2 : 1)])
    .sort((a, b) => b[1] - a[1])
    .map(([one]) => one);
}

/** Number of imports from a test to a file; less for tests of its folder and of those above, which are about it. */
function nearness(test, file) {
  const steps = distancesFrom(test).get(file) ?? Number.POSITIVE_INFINITY;
  const folder = dirname(test);
  if (steps === Number.POSITIVE_INFINITY || !`${dirname(file)}/`.startsWith(`${folder}/`)) return steps;
  return folder === dirname(file) ? Math.min(steps - 1.5, 1) : Math.min(steps, 3);
}

/**
 * Files that a test sees a part through: those that import it, and the routes and commands at most two imports away. Of either
 * none where they are many: such a part is everybody's.
 */
function usersOf(file) {
  importers ??= importersOfAll();
  const direct = importers.get(file) ?? [];
  const near = new Set([...direct, ...direct.flatMap((one) => importers.get(one) ?? [])]);
  const doors = [...near].filter((one) => /^src\/(http\/routes|cli\/commands)\//.test(one));
  return [...new Set([direct, doors].flatMap((users) => (users.length <= usersMax ? users : [])))];
}

function importersOfAll() {
  const found = new Map();
  for (const one of globSync('src/**/*.ts', { cwd: root, exclude: ['src/**/*.test.ts'] }))
    for (const imported of importsOf(one)) found.set(imported, [...(found.get(imported) ?? []), one]);
  return found;
}

/** Returns what is wrong with the table: files of `src` without a row, and places without a test file. */
export function faultsOfTable(files) {
  const rowless = files.filter((file) => rowOf(file) === undefined).map((file) => `no row names tests of ${file}`);
  const empty = testsOfRooms.flatMap(([room, places]) =>
    places
      .filter((place) => !testFiles.some((one) => one.startsWith(`test/${place}`)))
      .map((place) => `${room}: no test file begins with test/${place}`),
  );
  return [...rowless, ...empty];
}

function isNamedLong(file) {
  return testsOfRooms.some(([, places]) => places.some((place) => file === `test/${place}.test.ts`));
}

function rowOf(file) {
  return testsOfRooms.find(([room]) => file.startsWith(`${room}/`) || file === `${room}.ts`);
}

/** How much a test file says in the same words, 0 to 1; rare words count more, and those of its path thrice. */
function likenessTo(file) {
  weights ??= weightsOf(testFiles);
  const its = weights(file);
  return (test) => {
    const other = weights(test);
    let sum = 0;
    for (const [word, weight] of its.words) sum += weight * (other.words.get(word) ?? 0);
    return sum / (its.length * other.length);
  };
}

/** Returns the weights of a file's words by how often it has them, and how few of `files` do. */
function weightsOf(files) {
  const counts = new Map(files.map((file) => [file, wordCounts(file)]));
  const filesWith = new Map();
  for (const words of counts.values())
    for (const word of words.keys()) filesWith.set(word, (filesWith.get(word) ?? 0) + 1);
  const known = new Map();
  return (file) => {
    if (!known.has(file)) {
      const words = new Map();
      for (const [word, count] of counts.get(file) ?? wordCounts(file)) {
        const rareness = Math.log(files.length / (filesWith.get(word) ?? files.length));
        if (rareness > 0) words.set(word, (1 + Math.log(count)) * rareness);
      }
      known.set(file, { words, length: Math.hypot(...words.values()) || 1 });
    }
    return known.get(file);
  };
}

function wordCounts(file) {
  const text = `${`${file} `.repeat(3)} ${textOf(file)}`.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  const counts = new Map();
  for (const [plural] of text.matchAll(/[a-z]{3,}/g)) {
    const word = plural.replace(/ies$/, 'y').replace(/s$/, '');
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

/** How many imports lead from a file to each that it reaches. */
function distancesFrom(file) {
  if (distances.has(file)) return distances.get(file);
  const found = new Map([[file, 0]]);
  // A map gives what is added to it under way, too.
  for (const [one, steps] of found) for (const next of importsOf(one)) if (!found.has(next)) found.set(next, steps + 1);
  distances.set(file, found);
  return found;
}

/** Files that it imports at once or later, or runs in a thread. */
function importsOf(file) {
  if (!imported.has(file)) {
    const paths = [...textOf(file).matchAll(importing)].map(([, ...found]) => found.find((path) => path !== undefined));
    imported.set(
      file,
      // Texts of programs that a test writes have imports too.
      paths
        .map((path) => relative(root, resolve(root, dirname(file), path)))
        .filter((path) => existsSync(join(root, path))),
    );
  }
  return imported.get(file);
}

const importing =
  /^(?:import|export)\b(?! type)[^;]*? from '(\.[^']+\.ts)'|(?<!typeof )\bimport\('(\.[^']+\.ts)'\)|\bnew URL\('(\.[^']+\.ts)'/gm;

function textOf(file) {
  return readFileSync(join(root, file), 'utf8');
}
