import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { CliParts } from '../../src/cli/parts.ts';
import { createProgram } from '../../src/cli/program.ts';
import { outlineOf, runnable } from '../../src/cli/reference/outline.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';

const nothing = async () => undefined;
const program = outlineOf(await createProgram({ version: '0.0.0' } as CliParts, nothing, nothing, null));
/** They print a program's text, or speak a protocol. */
const textAlone = ['start', 'mcp', 'hooks new', 'completion', 'man'];

/** Fields that docs/cli.md promises of a command, in the first part of its cell. */
function promised(command: string): string[] {
  const docs = readFileSync('docs/cli.md', 'utf8');
  const row = docs
    .split('\n')
    .find((line) => line.startsWith('| `') && line.split(' | ')[0]!.includes(`\`${command}\``));
  assert.ok(row !== undefined, `docs/cli.md has no row of ${command}`);
  return [
    ...row
      .split(' | ')[1]!
      .split(/[;:]/)[0]!
      .matchAll(/`(\w+)`/g),
  ].map(([, field]) => field!);
}

test('every command that prints something takes --json', () => {
  const without = runnable(program).filter(({ options }) => !options.some(({ long }) => long === '--json'));
  assert.deepEqual(
    without.map(({ words }) => words.join(' ')),
    textAlone,
  );
});

test('commands print the fields that the documentation promises, and nothing else on stdout', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(
    join(cwd, 'body.json'),
    JSON.stringify({ model: 'sim/chat', messages: [{ role: 'user', content: 'Hi' }] }),
  );
  writeFileSync(
    join(cwd, 'litellm.yaml'),
    'model_list:\n  - { model_name: a, litellm_params: { model: openai/gpt-4o } }\n',
  );
  const said = async (command: string, ...args: string[]) => {
    const { stdout, stderr } = await runCommand([...command.split(' '), ...args, '--json'], { cwd });
    assert.notEqual(stdout, '', stderr);
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  const calls: readonly (readonly [command: string, ...args: string[]])[] = [
    ['init', 'made.yaml'],
    ['keys create', '--account', 'acme', '--name', 'laptop'],
    ['operators create', 'Anna', '--role', 'viewer'],
    ['check'],
    ['doctor'],
    ['explain', 'body.json'],
    ['models'],
    ['accounts list'],
    ['keys list'],
    ['plans list'],
    ['operators list'],
    ['invitations create', '--role', 'viewer'],
    ['invitations list'],
    ['members list'],
    ['providers list'],
    ['audit'],
    ['requests list'],
    ['vectors list'],
    ['usage'],
    ['secret rotate'],
    ['requests export', '--out', 'all.csv'],
    ['migrate'],
    ['backup', 'all.gz'],
    ['restore', 'all.gz', '--yes'],
    ['add --list'],
    ['import litellm', 'litellm.yaml', '--output', 'other.yaml'],
  ];
  for (const [command, ...args] of calls) {
    const fields = Object.keys(await said(command, ...args));
    assert.ok(fields.length > 0, command);
    const missing = promised(command).filter((field) => !fields.includes(field));
    assert.deepEqual(missing, [], `${command} prints ${fields.join(', ')}`);
  }
  assert.deepEqual((await said('config export')).accounts, { acme: { plan: 'default' } });
});

test('errors are JSON on stdout where --json is given, with the exit code; elsewhere a sentence on stderr', async (t) => {
  const cwd = temporaryFolder(t);
  const cases: [string[], Record<string, unknown>][] = [
    [['accounts', 'show', 'nobody'], { type: 'refused', exit_code: 1, status: 404 }],
    [['keys', 'list', '--lvie'], { type: 'wrong_call', exit_code: 2, status: null }],
    [['nonsense'], { type: 'wrong_call', exit_code: 2 }],
    [['usage', '--group-by', 'colour'], { type: 'wrong_call', exit_code: 2 }],
    [['usage', '--from', 'yesterday'], { type: 'wrong_call', exit_code: 2 }],
    [['requests', 'export'], { type: 'wrong_call', exit_code: 2 }],
    [['restore', 'nothing.gz'], { type: 'failed', exit_code: 1, status: null, param: null }],
  ];
  const json = await Promise.all(cases.map(([args]) => runCommand([...args, '--json'], { cwd })));
  for (const [index, { code, stdout, stderr }] of json.entries()) {
    const { error } = JSON.parse(stdout) as { error: Record<string, unknown> };
    const [args, wanted] = cases[index]!;
    assert.deepEqual(
      Object.fromEntries(Object.keys(wanted).map((name) => [name, error[name]])),
      wanted,
      args.join(' '),
    );
    assert.equal(typeof error.message, 'string');
    assert.equal(code, error.exit_code);
    assert.equal(stderr, '');
  }
  const plain = await runCommand(['restore', 'nothing.gz'], { cwd });
  assert.deepEqual(plain, { code: 1, stdout: '', stderr: 'There is no file nothing.gz.\n' });
});
