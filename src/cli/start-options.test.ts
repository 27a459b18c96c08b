import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CliParts } from './parts.ts';
import { createProgram } from './program.ts';
import { startArguments } from './start-options.ts';

const values: Readonly<Record<string, string>> = { '--config': 'a.yaml', '--host': '::1', '--port': '4141' };

test('a start without the whole command line understands every option that its help names, as that does', async () => {
  const asked: unknown[] = [];
  const start = async (options: unknown) => asked.push(options);
  const run = async (work: Promise<unknown>) => void (await work);
  const program = () => createProgram({ start, version: '0' } as unknown as CliParts, run, run, null);
  const options = (await program()).commands
    .find((command) => command.name() === 'start')!
    .options.map(({ long }) => long!);
  const all = options.flatMap((option) => [option, values[option] ?? 'no value in this test']);
  for (const argv of [[], ['start'], all, ['start', ...all], ['start', '--port=0', '--config', '']]) {
    await (await program()).parseAsync(argv, { from: 'user' });
    assert.deepEqual(startArguments(argv), asked.at(-1), argv.join(' '));
  }
});

test('help, mistakes and other commands are left to the whole command line', () => {
  const others = [
    ['--help'],
    ['start', '-h'],
    ['--version'],
    ['start', '--prot', '1'],
    ['--port', '70000'],
    ['--port'],
    ['--host', '--port'],
    ['start', 'twice'],
    ['check'],
    ['help', 'start'],
  ];
  for (const argv of others) assert.equal(startArguments(argv), null, argv.join(' '));
});
