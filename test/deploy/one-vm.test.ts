import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../start-process.ts';
import { deploy, programsMissing, runProgram } from './tools.ts';

const cwd = join(deploy, 'one-vm');

test('shellcheck has nothing to say of one-vm.sh', { skip: programsMissing('shellcheck') }, () => {
  const { code, said } = runProgram('shellcheck', ['one-vm.sh'], { cwd });
  assert.equal(code, 0, said);
});

test('the service is sound, and exposed to 2.1 of 10 at most', { skip: programsMissing('systemd-analyze') }, (t) => {
  const rated = runProgram('systemd-analyze', ['security', '--offline=yes', '--threshold=21', 'culvert.service'], {
    cwd,
  });
  assert.equal(rated.code, 0, rated.said);
  // The programs that it starts are not installed here.
  const unit = join(temporaryFolder(t), 'culvert.service');
  writeFileSync(
    unit,
    readFileSync(join(cwd, 'culvert.service'), 'utf8').replace('/usr/local/bin/culvert', '/bin/true'),
  );
  const { code, said } = runProgram('systemd-analyze', ['verify', unit]);
  assert.equal(code, 0, said);
  assert.doesNotMatch(said, /culvert\.service/);
});

test('one-vm.sh says what is wrong with a call', () => {
  for (const [args, words] of [
    [[], /--executable must name a file/],
    [['--executable'], /--executable needs a value/],
    [['--executable', '/bin/true'], /--name must be/],
    [['--executable', '/bin/true', '--name', 'a b'], /--name must be/],
    [['--executable', '/bin/true', '--name', 'a.example'], /--certificate must name a file/],
    [['--certifcate', 'x'], /there is no option --certifcate/],
  ] as const) {
    const { code, said } = runProgram('bash', ['one-vm.sh', ...args], { cwd });
    assert.equal(code, 1, said);
    assert.match(said, process.getuid?.() === 0 || args.length === 1 ? words : /this needs root|one-vm\.sh:/);
  }
  assert.match(runProgram('bash', ['one-vm.sh', '--help'], { cwd }).said, /^Sets one Debian[\s\S]*--full/);
});
