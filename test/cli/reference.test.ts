import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { CliParts } from '../../src/cli/parts.ts';
import { createProgram } from '../../src/cli/program.ts';
import { commandsIn, optionsAt, outlineOf, runnable, usageLine } from '../../src/cli/reference/outline.ts';
import { missingTool } from '../sound.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { openTerminal } from '../terminal.ts';

const nothing = async () => undefined;
const program = outlineOf(await createProgram({ version: '0.0.0' } as CliParts, nothing, nothing, null));

/** The last words of a command's commands, in the order of the alphabet. */
function commandsOf(name: string): string[] {
  const { commands } = program.commands.find(({ words }) => words[0] === name)!;
  return commands.map(({ words }) => words.at(-1)!).sort();
}

/** The typed text, and the shell's offers then. Files of the folder are `one.yaml` and `two.gz`. */
const cases: readonly (readonly [typed: string, offered: readonly string[]])[] = [
  ['culvert keys ', commandsOf('keys')],
  ['culvert rel', ['reload']],
  ['culvert keys create --acc', ['--account']],
  ['culvert --po', ['--port']],
  ['culvert requests export --format ', ['csv', 'jsonl']],
  ['culvert usage --url keys --group-by m', ['model']],
  ['culvert check --config o', ['one.yaml']],
  ['culvert restore t', ['two.gz']],
  ['culvert restore two.gz t', []],
  ['culvert completion ', ['bash', 'fish', 'zsh']],
  ['culvert accounts show o', []],
];

async function completing(
  t: { after(end: () => unknown): void },
  shell: string,
): Promise<{ cwd: string; file: string }> {
  const cwd = temporaryFolder(t);
  for (const name of ['one.yaml', 'two.gz']) writeFileSync(join(cwd, name), '');
  const { code, stdout, stderr } = await runCommand(['completion', shell], { cwd });
  assert.equal(code, 0, stderr);
  const file = join(cwd, '.completion');
  writeFileSync(file, stdout);
  return { cwd, file };
}

function run(cwd: string, command: string, args: readonly string[]): string {
  const { stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  assert.equal(stderr, '');
  return stdout;
}

test('bash completes commands, options, their values and files', async (t) => {
  const { cwd, file } = await completing(t, 'bash');
  const ask = (typed: string) => {
    const script = `source .completion; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _culvert
      for word in "\${COMPREPLY[@]}"; do echo "$word"; done`;
    return run(cwd, 'bash', ['-c', script, 'bash', ...typed.split(' ')])
      .split('\n')
      .filter(Boolean)
      .sort();
  };
  for (const [typed, offered] of cases) assert.deepEqual(ask(typed), offered, typed);
  // Bash itself parts words at =.
  assert.deepEqual(ask('culvert requests export --format = j'), ['jsonl']);
  const script = readFileSync(file, 'utf8');
  assert.match(script, /^complete -F _culvert culvert$/m);
  for (const command of commandsIn(program)) {
    const options = optionsAt(program, command).map(({ long }) => long);
    const path = command.words.map((word) => ` ${word}`).join('');
    assert.ok(script.includes(`'${path}') only='${options.join(' ')}' ;;`), usageLine(command));
  }
});

test('fish completes the same', { skip: missingTool('fish') }, async (t) => {
  const { cwd } = await completing(t, 'fish');
  for (const [typed, offered] of cases) {
    const said = run(cwd, 'fish', ['--no-config', '-c', `source .completion; complete -C '${typed}'`]);
    const words = said
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('\t')[0]!);
    assert.deepEqual(words.sort(), offered, typed);
  }
});

test('the script of fish says which options take a file, one of some words, or anything', async (t) => {
  const { file } = await completing(t, 'fish');
  const script = readFileSync(file, 'utf8');
  assert.match(script, / -l config -r -F -d /);
  assert.match(script, / -l endpoint -x -a 'chat messages responses embeddings' -d /);
  assert.match(script, / -l port -x -d /);
});

test('zsh completes the same', { skip: missingTool('zsh', 'script') }, async (t) => {
  const { cwd } = await completing(t, 'zsh');
  writeFileSync(
    join(cwd, '.zshrc'),
    `PS1='ready> '; autoload -Uz compinit; compinit -D -u; setopt no_beep list_rows_first; LISTMAX=0
     source .completion; culvert() { print -r -- "called: $*" }`,
  );
  const zsh = openTerminal(t, 'zsh -i', { cwd, columns: 200, env: { ZDOTDIR: cwd, HOME: cwd } });
  await zsh.showed('ready> ');
  // The key completes a single answer; the line then shows the result.
  for (const [typed, offered] of cases.filter(([, offered]) => offered.length < 2)) {
    zsh.type(`${typed}\t\n`);
    const [command, ...rest] = typed.split(' ');
    const words = offered.length === 1 ? [...rest.slice(0, -1), offered[0]!] : rest;
    assert.equal(command, 'culvert');
    await zsh.showed(`called: ${words.join(' ')}`);
  }
  // With several it shows a list, with the meaning of each.
  zsh.type('culvert keys \t\t');
  await zsh.showed(/create +-- \w+ a key/);
});

const renderers: readonly (readonly [tool: string, args: readonly string[]])[] = [
  ['groff', ['-man', '-ww', '-z', 'culvert.1']],
  ['man', ['--warnings', '-l', 'culvert.1']],
  ['mandoc', ['-T', 'lint', '-W', 'warning', 'culvert.1']],
];

for (const [tool, args] of renderers) {
  test(`${tool} renders the manual page without a warning`, { skip: missingTool(tool) }, async (t) => {
    const cwd = temporaryFolder(t);
    const { code, stdout } = await runCommand(['man'], { cwd });
    assert.equal(code, 0);
    writeFileSync(join(cwd, 'culvert.1'), stdout);
    const said = spawnSync(tool, args, {
      cwd,
      encoding: 'utf8',
      env: { ...process.env, MANWIDTH: '500', MANPAGER: 'cat' },
    });
    assert.equal(said.status, 0, said.stdout);
    assert.equal(said.stderr, '');
    if (tool !== 'man') return assert.equal(said.stdout, '');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: bold is a letter written twice.
    const text = said.stdout.replaceAll(/.\u0008/g, '');
    for (const command of runnable(program)) assert.ok(text.includes(usageLine(command)), usageLine(command));
  });
}
