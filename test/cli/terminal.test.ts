import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { CliParts } from '../../src/cli/parts.ts';
import { createProgram } from '../../src/cli/program.ts';
import { commandsIn, outlineOf } from '../../src/cli/reference/outline.ts';
import { missingTool } from '../sound.ts';
import { culvertBin, launch, runCommand, temporaryFolder } from '../start-process.ts';
import { linesOn, openTerminal } from '../terminal.ts';

const nothing = async () => undefined;
const program = outlineOf(await createProgram({ version: '0.0.0' } as CliParts, nothing, nothing, null));
const culvert = `'${process.execPath}' '${culvertBin}'`;
const skip = missingTool('script', 'stty');

async function shownBy(t: TestContext, args: string, cwd: string, columns: number): Promise<string[]> {
  const terminal = openTerminal(t, `${culvert} ${args}`, { cwd, columns });
  await terminal.ended;
  return linesOn(terminal.shown()).filter((line) => line !== '');
}

/** A server of the admin API that keeps its caller waiting until it is let go. */
async function startSlowServer(t: TestContext): Promise<{ env: Record<string, string>; url: string; letGo(): void }> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const server = createServer(async (_request, response) => {
    await promise;
    const account = { id: 'acme', name: 'Acme', plan: 'pro', status: 'active', created_at: null, from: 'stored' };
    response.setHeader('x-culvert-request-id', 'req_1');
    response.end(JSON.stringify({ data: [account], next_cursor: null }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    resolve();
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, env: { CULVERT_URL: url, CULVERT_ADMIN_KEY: 'sk-cv-admin-test' }, letGo: resolve };
}

describe('commands on a terminal', { skip, concurrency: true }, () => {
  test('no line of help, tables or messages is wider than the terminal', async (t) => {
    const cwd = temporaryFolder(t);
    writeFileSync(
      join(cwd, 'culvert.yaml'),
      `providers: { up: { type: openai, api_key: k, base_url: 'http://127.0.0.1:9/v1' } }
models: { a-model-with-a-longer-name: { targets: [up/one-with-a-long-name-too] } }
keys: [{ key: sk-cv-test-key-0001, account: dev, name: a-key-with-a-longer-name }]
modles: {}
`,
    );
    writeFileSync(join(cwd, 'good.yaml'), 'keys: [{ key: sk-cv-test-key-0001, account: dev, name: laptop }]\n');
    const lines = async (args: string, columns: number) => {
      const shown = await shownBy(t, args, cwd, columns);
      assert.ok(shown.length > 0, args);
      for (const line of shown) assert.ok(line.length <= columns, `${args}: ${line.length} of ${columns}: ${line}`);
      return shown.join('\n');
    };
    const [help] = await Promise.all([
      lines('--help', 60),
      lines('keys create --help', 60),
      lines('keys list --config good.yaml', 44),
      lines('plans list --config good.yaml', 60),
      lines('doctor --config good.yaml', 80),
      lines('check', 60),
      lines('usage --group-by colour', 60),
      lines('chat hello --config good.yaml', 60),
    ]);
    assert.match(help, /CULVERT_ADMIN_KEY/);
  });

  test('help keeps to 80 columns where nobody says how wide a line may be', async (t) => {
    const cwd = temporaryFolder(t);
    const groups = commandsIn(program).filter(({ words }) => words.length < 2);
    const helps = await Promise.all(groups.map(({ words }) => runCommand([...words, '--help'], { cwd })));
    const wide = helps.flatMap(({ stdout }) => stdout.split('\n').filter((line) => line.length > 80));
    assert.deepEqual(wide, []);
  });

  test('the log has colours, but for NO_COLOR and for a terminal that knows none', async (t) => {
    const colours = async (env: Record<string, string>) => {
      const cwd = temporaryFolder(t);
      const terminal = openTerminal(t, `${culvert} start --port 0`, { cwd, columns: 80, env });
      await terminal.showed('Try it:');
      terminal.type('\u0003');
      await terminal.showed('running requests');
      await terminal.ended;
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
      return /\u001b\[\d+m/.test(terminal.shown());
    };
    assert.deepEqual(await Promise.all([{}, { NO_COLOR: '1' }, { TERM: 'dumb' }].map(colours)), [true, false, false]);
  });

  test('a command that takes two seconds says whom it waits for, on a line that is gone afterwards', async (t) => {
    const server = await startSlowServer(t);
    const cwd = temporaryFolder(t);
    const terminal = openTerminal(t, `${culvert} accounts list`, { cwd, columns: 60, env: server.env });
    // It moves.
    await terminal.showed(/(waiting for \S+, \d+ s)\S*\r(?!\1)waiting for/);
    server.letGo();
    await terminal.ended;
    const lines = linesOn(terminal.shown());
    assert.ok(lines.some((line) => /^acme +Acme +pro/.test(line)));
    assert.ok(!lines.some((line) => line.includes('waiting for')), lines.join('\n'));
  });
});

test('into a file it says so at most every few seconds, and never with --json or --quiet', async (t) => {
  const server = await startSlowServer(t);
  const run = (...more: string[]) => launch(t, ['accounts', 'list', ...more], { env: server.env });
  const silent = [run('--json'), run('--quiet')];
  const plain = run();
  await plain.said(/(waiting for \S+, \d+ s\n){2}/);
  server.letGo();
  await Promise.all([plain, ...silent].map(({ exited }) => exited));
  const seconds = [...plain.stderr().matchAll(/^waiting for \S+, (\d+) s$/gm)].map(([, second]) => Number(second));
  assert.ok(seconds[0]! >= 2 && seconds[1]! >= seconds[0]! + 4, plain.stderr());
  for (const { stdout, stderr } of [plain, ...silent]) {
    assert.equal(JSON.parse(stdout()).data[0].id, 'acme');
    if (stdout !== plain.stdout) assert.equal(stderr(), '');
  }
});

test('it goes on while the command itself does nothing but read a database', async (t) => {
  const code = `
    import { readSync } from 'node:fs';
    import { createProgress } from ${JSON.stringify(new URL('../../src/cli/progress.ts', import.meta.url).href)};
    const progress = createProgress({}, 'blocks');
    progress.at('reading every page');
    readSync(0, Buffer.alloc(1));
    progress.end();
    console.error('done');`;
  const file = join(temporaryFolder(t), 'blocks.mjs');
  writeFileSync(file, code);
  const child = spawn(process.execPath, [file], { stdio: ['pipe', 'ignore', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  let said = '';
  const { promise, resolve } = Promise.withResolvers<void>();
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    if (/reading every page, \d+ s\n/.test(said)) resolve();
  });
  const closed = once(child, 'close');
  await Promise.race([promise, closed]);
  child.stdin.write('x');
  await closed;
  assert.match(said, /^(reading every page, \d+ s\n)+done\n$/);
});

test('a command that ends before two seconds shows no progress', async (t) => {
  const cwd = temporaryFolder(t);
  const { stderr } = await runCommand(['accounts', 'list'], { cwd });
  assert.equal(stderr, '');
});
