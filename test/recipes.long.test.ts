import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { migrations } from '../src/stores/postgres/schema.ts';
import { ledgerMigrations } from '../src/stores/sqlite/ledger-schema.ts';
import { postgresMissing, startPostgres } from './start-postgres.ts';
import { runCommand, startProcess, temporaryFolder } from './start-process.ts';
import { startUpstream } from './start-upstream.ts';

/*
 * The recipes of CONTRIBUTING, followed: each test makes the change in a checkout of its own, sees it work, and counts
 * new files and places in files that were there. A recipe that grows fails here.
 */

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const contributing = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');

/** A copy of the sources that may be changed. */
function checkout(t: TestContext) {
  const folder = temporaryFolder(t);
  for (const part of ['bin', 'src', 'scripts', 'package.json', 'tsconfig.json']) {
    cpSync(join(root, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const count = { files: 0, places: 0 };
  return {
    folder,
    bin: join(folder, 'bin', 'culvert.mjs'),
    count,
    newFile(path: string, text: string): void {
      assert.ok(!existsSync(join(folder, path)), `${path} is there already`);
      writeFileSync(join(folder, path), text);
      count.files += 1;
    },
    /** Asserts that the compiler takes the change: without that, Node runs what has a wrong member too. */
    async assertTypes(): Promise<void> {
      const tsc = join(folder, 'node_modules/.bin/tsc');
      const output = await run(tsc, ['-p', folder, '--noEmit', '--checkers', '1']).then(
        () => '',
        ({ stdout }) => String(stdout),
      );
      // Tests lack their helpers here.
      const found = output.split('\n').filter((line) => line !== '' && !/\.test\.ts\(/.test(line));
      assert.deepEqual(found, []);
    },
    /** Puts a line before the first that holds `mark`. */
    before(path: string, mark: string, line: string): void {
      const lines = readFileSync(join(folder, path), 'utf8').split('\n');
      const at = lines.findIndex((each) => each.includes(mark));
      assert.ok(at >= 0, `${path} has no line with ${mark}`);
      writeFileSync(join(folder, path), lines.toSpliced(at, 0, line).join('\n'));
      count.places += 1;
    },
    /** Puts a line at the end of the last list of a file. */
    last(path: string, line: string): void {
      const text = readFileSync(join(folder, path), 'utf8');
      const at = text.lastIndexOf('];');
      assert.ok(at >= 0, `${path} ends no list`);
      writeFileSync(join(folder, path), `${text.slice(0, at)}${line}\n${text.slice(at)}`);
      count.places += 1;
    },
  };
}

/** `1 new file, 3 places` of a recipe's heading. */
function promised(recipe: string): { files: number; places: number } {
  const heading = contributing.split('\n').find((line) => line.startsWith(`**${recipe}**: `));
  assert.ok(heading, `CONTRIBUTING has no recipe '${recipe}'`);
  const number = (unit: RegExp) => Number(unit.exec(heading)?.[1] ?? 0);
  return { files: number(/(\d+) new files?/), places: number(/(\d+) places?/) };
}

const adminKey = 'an-admin-key-of-the-recipes-0001';

/** A gateway of the changed sources with one chat model; its upstream, and a caller's question. */
async function start(t: TestContext, bin: string, options: { type?: string; url?: string; storage?: string } = {}) {
  const { type = 'openai', url, storage = '' } = options;
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const cwd = temporaryFolder(t);
  const baseUrl = type === 'openai' ? `, base_url: '${url ?? upstream.url}/v1'` : '';
  writeFileSync(
    join(cwd, 'culvert.yaml'),
    `server: { port: 0 }
admin: { key: ${adminKey} }
${storage}
providers: { up: { type: ${type}, api_key: a-key${baseUrl} } }
models: { small: { targets: [ up/sim/chat ] } }
autodetect: off
`,
  );
  const gateway = await startProcess(t, { bin, cwd, args: ['--config', 'culvert.yaml'] });
  const admin = (path: string) =>
    fetch(`${gateway.url}/admin/v1${path}`, { headers: { authorization: `Bearer ${adminKey}` } });
  const command = (...args: string[]) =>
    runCommand([...args, '--url', gateway.url], { bin, cwd, env: { CULVERT_ADMIN_KEY: adminKey } });
  const made = await command('keys', 'create', '--account', 'dev', '--name', 'recipe');
  const key = made.stdout.trim();
  assert.match(key, /^sk-cv-/, made.stderr);
  return {
    admin,
    command,
    async ask() {
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'small', messages: [{ role: 'user', content: 'Hi' }] }),
      });
      assert.equal(answer.status, 200, await answer.text());
      return answer.headers.get('x-culvert-request-id')!;
    },
    post: (path: string, body: unknown) =>
      fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  };
}

test('a provider that speaks a known dialect', async (t) => {
  const { newFile, before, assertTypes, count, bin } = checkout(t);
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  newFile(
    'src/formats/providers/services/acme.ts',
    `import { openAiLike } from '../openai-like.ts';

export const acme = openAiLike({
  id: 'acme', title: 'Acme', baseUrl: '${upstream.url}/v1', envKey: 'ACME_API_KEY',
  quirks: { rename: { max_completion_tokens: 'max_tokens' } }, errors: [],
});
`,
  );
  before('src/formats/providers/catalog.ts', 'import { anthropic }', "import { acme } from './services/acme.ts';");
  before('src/formats/providers/catalog.ts', '  anthropic,', '  acme,');
  const gateway = await start(t, bin, { type: 'acme' });
  await gateway.ask();
  assert.equal(upstream.requests().at(-1)?.headers.authorization, 'Bearer a-key');
  await assertTypes();
  assert.deepEqual(count, promised('A provider that speaks a known dialect'));
});

test('a field of a conversation that two formats have', async (t) => {
  const { before, assertTypes, count, bin } = checkout(t);
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  before('src/formats/neutral/request.ts', '  user?: string;', '  persona?: string;');
  for (const format of ['anthropic-messages', 'openai-chat']) {
    before(`src/formats/dialects/${format}/request-fields.ts`, '  metadata: [', "  persona: [v.string, 'persona'],");
  }
  const gateway = await start(t, bin, { url: upstream.url });
  const body = { model: 'small', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }], persona: 'a pirate' };
  const answer = await gateway.post('/v1/messages', body);
  assert.equal(answer.status, 200, await answer.text());
  assert.equal(answer.headers.get('x-culvert-dropped'), null);
  assert.equal((upstream.requests().at(-1)!.body as { persona?: string }).persona, 'a pirate');
  await assertTypes();
  assert.deepEqual(count, promised('A field of a conversation that two formats have'));
});

async function addColumn(t: TestContext, storage: string) {
  const { before, last, assertTypes, count, bin } = checkout(t);
  before(
    'src/books/ledger/columns.ts',
    "['ms', 'whole'",
    "  ['tries', 'whole', ({ facts }) => facts.route.attempts.length],",
  );
  last(
    'src/stores/sqlite/ledger-schema.ts',
    `  { version: ${ledgerMigrations.length + 1}, name: 'tries', sql: 'ALTER TABLE usage_event ADD COLUMN tries INTEGER NOT NULL DEFAULT 0' },`,
  );
  last(
    'src/stores/postgres/schema.ts',
    `  { version: ${migrations.length + 1}, name: 'tries', sql: 'ALTER TABLE culvert.usage_event ADD COLUMN tries BIGINT NOT NULL DEFAULT 0' },`,
  );
  const gateway = await start(t, bin, { storage });
  const id = await gateway.ask();
  const record = (await (await gateway.admin(`/requests/${id}`)).json()) as Record<string, unknown>;
  assert.equal(record.tries, 1);
  const [head, row] = (await (await gateway.admin('/requests.csv')).text())
    .split('\r\n')
    .map((line) => line.split(','));
  assert.equal(row?.[head!.indexOf('tries')], '1');
  if (storage === '') await assertTypes();
  assert.deepEqual(count, promised('A column of the ledger'));
}

test('a column of the ledger, in SQLite', (t) => addColumn(t, ''));

test('a column of the ledger, in PostgreSQL', { skip: postgresMissing }, async (t) => {
  const server = await startPostgres(t);
  await addColumn(t, `storage: { database: '${server.url}' }`);
});

test('a driver of a SQL database', { skip: postgresMissing }, async (t) => {
  const { newFile, count, folder, bin } = checkout(t);
  const stores = join(folder, 'src/stores');
  // The driver of PostgreSQL, under another name: what it needs beyond its folder is found by its imports.
  for (const file of globSync('*.ts', { cwd: join(stores, 'postgres') }).filter((name) => !name.endsWith('.test.ts'))) {
    if (count.files === 0) mkdirSync(join(stores, 'again'));
    newFile(`src/stores/again/${file}`, readFileSync(join(stores, 'postgres', file), 'utf8'));
  }
  rmSync(join(stores, 'postgres'), { recursive: true });
  for (const file of globSync('src/**/*.ts', { cwd: folder }).map((name) => join(folder, name))) {
    const text = readFileSync(file, 'utf8');
    if (!text.includes('stores/postgres/')) continue;
    writeFileSync(file, text.replaceAll('stores/postgres/', 'stores/again/'));
    count.places += 1;
  }
  const server = await startPostgres(t);
  const gateway = await start(t, bin, { storage: `storage: { database: '${server.url}' }` });
  const id = await gateway.ask();
  assert.equal((await gateway.admin(`/requests/${id}`)).status, 200);
  assert.deepEqual(count, promised('A driver of a SQL database'));
});

test('a key of the configuration', async (t) => {
  const { before, count, bin, folder } = checkout(t);
  before(
    'src/config/schema/schema-server.ts',
    'public_url: httpUrl()',
    "    motto: z.string().max(80).default('').describe('Shown to nobody.'),",
  );
  writeFileSync(join(folder, 'good.yaml'), 'server: { motto: hello }\n');
  writeFileSync(join(folder, 'bad.yaml'), 'server:\n  motto: 7\n');
  const good = await runCommand(['check', '--config', 'good.yaml'], { bin, cwd: folder });
  assert.equal(good.code, 0, good.stderr);
  const bad = await runCommand(['check', '--config', 'bad.yaml'], { bin, cwd: folder });
  assert.match(bad.stdout + bad.stderr, /bad\.yaml:2:\d+.*server\.motto/);
  const { stdout } = await runCommand(['check', '--schema'], { bin, cwd: folder });
  assert.match(stdout, /Shown to nobody\./);
  assert.deepEqual(count, promised('A key of the configuration'));
});

test('an operation of the admin API with its command', async (t) => {
  const { newFile, before, assertTypes, count, bin } = checkout(t);
  newFile(
    'src/admin/clock.ts',
    `import { z } from 'zod';
import { jsonOperation, type Operation } from './operation.ts';
import type { AdminParts } from './parts.ts';

export function clockOperations({ clock }: AdminParts): Operation[] {
  return [
    jsonOperation({
      route: 'GET /clock', area: 'health', summary: 'The time of this server.',
      reply: z.object({ at: z.string() }),
      run: () => ({ at: new Date(clock.wallMs()).toISOString() }),
    }),
  ];
}
`,
  );
  before('src/admin/create-admin-api.ts', "from './configuration.ts'", "import { clockOperations } from './clock.ts';");
  before(
    'src/admin/create-admin-api.ts',
    '...configurationOperations(parts, records),',
    '    ...clockOperations(parts),',
  );
  before(
    'src/cli/admin-commands.ts',
    '  plans: {',
    `  clock: {
    group: seeWhatHappens,
    ...calls({
      description: 'show the time of the server', example: 'culvert clock', call: 'GET /clock',
      describe: ({ at }) => String(at),
    }),
  },`,
  );
  const gateway = await start(t, bin);
  const told = (await (await gateway.admin('/clock')).json()) as { at: string };
  assert.ok(Math.abs(Date.parse(told.at) - Date.now()) < 60_000);
  const { stdout, stderr } = await gateway.command('clock', '--json');
  assert.ok(Date.parse((JSON.parse(stdout) as { at: string }).at) >= Date.parse(told.at), stderr);
  await assertTypes();
  assert.deepEqual(count, promised('An operation of the admin API with its command'));
});
