import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cleanEnv, runCommand, temporaryFolder } from '../start-process.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));

test('culvert hooks new writes a hook that is typed, passes its test, and runs by culvert hooks test', async (t) => {
  const cwd = temporaryFolder(t);
  const made = await runCommand(['hooks', 'new', 'team-rules'], { cwd });
  assert.equal(made.code, 0, made.stderr);
  assert.match(made.stdout, /module: \.\/hooks\/team-rules\.ts/);
  writeFileSync(join(cwd, 'package.json'), '{"type":"module"}');
  const tested = await run(process.execPath, ['--test', 'hooks/team-rules.test.ts'], { cwd, env: cleanEnv() });
  assert.match(tested.stdout, /pass 2/);

  const packed = join(cwd, 'node_modules', 'culvert-gateway', 'dist');
  mkdirSync(packed, { recursive: true });
  const types = readFileSync(join(root, 'src/hooks/hook-types.ts'), 'utf8');
  writeFileSync(join(packed, 'hooks.d.ts'), types);
  const manifest = { name: 'culvert-gateway', exports: { './hooks': { types: './dist/hooks.d.ts' } } };
  writeFileSync(join(packed, '../package.json'), JSON.stringify(manifest));
  symlinkSync(join(root, 'node_modules/@types'), join(cwd, 'node_modules/@types'));
  const options = ['--strict', '--noEmit', '--module', 'nodenext', '--allowImportingTsExtensions', '--types', 'node'];
  const checked = await run(join(root, 'node_modules/.bin/tsc'), [...options, 'hooks/team-rules.test.ts'], {
    cwd,
  }).catch((error: { stdout: string }) => error);
  assert.equal(checked.stdout, '');

  writeFileSync(
    join(cwd, 'culvert.yaml'),
    'hooks:\n  team-rules:\n    module: ./hooks/team-rules.ts\n    deadline: 20s\n',
  );
  const request = (text: string) => {
    const body = { model: 'smart', messages: [{ role: 'user', content: text }] };
    writeFileSync(join(cwd, 'request.json'), JSON.stringify(body));
    return runCommand(['hooks', 'test', 'team-rules', '--body', 'request.json', '--json'], { cwd });
  };
  const reply = (output: { stdout: string }) => JSON.parse(output.stdout).data[0].reply as Record<string, unknown>;
  assert.deepEqual(reply(await request('Hello')), { tag: 'test' });
  assert.match(String(reply(await request('internal only')).refuse), /stay here/);

  const again = await runCommand(['hooks', 'new', 'team-rules'], { cwd });
  assert.equal(again.code, 1);
  assert.match(again.stderr, /already exists/);
  const wrong = await runCommand(['hooks', 'new', '../rules'], { cwd });
  assert.equal(wrong.code, 2);
  const unknown = await runCommand(['hooks', 'test', 'nobody', '--body', 'request.json'], { cwd });
  assert.match(unknown.stderr, /There is no hook 'nobody'\. There are team-rules\./);
});

test('culvert hooks test says what is wrong with a hook, and exits with 1', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'bad.ts'), 'export default { version: 1, onRequest: () => ({ account: "rich" }) };\n');
  const hooks = { bad: { module: './bad.ts', deadline: '20s' }, gone: { module: 'culvert-hook-nowhere' } };
  writeFileSync(join(cwd, 'culvert.yaml'), JSON.stringify({ hooks }));
  writeFileSync(join(cwd, 'request.json'), '{"model":"smart","messages":[]}');
  const { code, stdout } = await runCommand(['hooks', 'test', '--body', 'request.json'], { cwd });
  assert.equal(code, 1);
  assert.match(stdout, /its reply changes 'account', which no hook may/);
  assert.match(stdout, /npm install culvert-hook-nowhere/);
});

test('a configuration of hooks that cannot be is refused with its place', async (t) => {
  const cwd = temporaryFolder(t);
  const hooks = {
    a: {},
    b: { type: 'webhook', url: 'https://a.example', events: ['onRequest'] },
    c: { module: './x.ts', headers: ['authorization'] },
    d: { module: './x.ts', events: ['onRequest'] },
  };
  writeFileSync(join(cwd, 'culvert.yaml'), JSON.stringify({ hooks }));
  const { code, stdout, stderr } = await runCommand(['check'], { cwd });
  assert.equal(code, 1);
  for (const place of [
    /hooks\.a\.module: is required/,
    /hooks\.b\.secret: is required/,
    /hooks\.c\.headers\[0\]: this header proves/,
    /hooks\.d\.events: the functions of a module/,
  ])
    assert.match(stdout + stderr, place);
});
