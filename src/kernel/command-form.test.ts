import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { commandForm, pasted } from './command-form.ts';

const inClone = { npm_package_name: 'culvert-gateway' };

for (const [form, program, env] of [
  ['culvert', '/usr/local/bin/culvert', {}],
  ['npx culvert-gateway', '/home/me/.npm/_npx/0f3a/node_modules/.bin/culvert', { npm_lifecycle_event: 'npx' }],
  ['npx culvert', '/home/me/app/node_modules/.bin/culvert', {}],
  ['npm run culvert --', '/home/me/bin/culvert.mjs', { ...inClone, npm_lifecycle_event: 'start' }],
  ['npm run culvert --', '/home/me/bin/culvert.mjs', { ...inClone, npm_lifecycle_event: 'culvert' }],
  // Another package's script of that name, and a script of ours that is none of the program.
  ['culvert', '/usr/bin/culvert', { npm_package_name: 'app', npm_lifecycle_event: 'start' }],
  ['node bin/culvert.mjs', '/home/me/bin/culvert.mjs', { ...inClone, npm_lifecycle_event: 'test' }],
  ['node /opt/culvert/bin/culvert.mjs', '/opt/culvert/bin/culvert.mjs', {}],
  ['node "/opt/my tools/culvert.mjs"', '/opt/my tools/culvert.mjs', {}],
  ['culvert', 'C:\\npm\\node_modules\\culvert-gateway\\bin\\culvert.mjs', {}],
  ['culvert', '', {}],
  ['culvert', 'src/books/auth/key-ring.test.ts', {}],
  // A worker of a server.
  ['npx culvert', '/opt/culvert/bin/culvert.mjs', { CULVERT_COMMAND: 'npx culvert' }],
  // The one executable.
  ['./culvert-linux-x64', './culvert-linux-x64', {}],
  ['culvert', 'culvert', {}],
  ['/opt/culvert-linux-x64', '/opt/culvert-linux-x64', {}],
  ['"./my tools/culvert"', './my tools/culvert', {}],
] as const) {
  test(`hints of ${program || 'another program'} ${JSON.stringify(env)} say ${form}`, () => {
    assert.equal(commandForm({ program, env, cwd: '/home/me' }), form);
  });
}

for (const word of [
  'dev/laptop',
  'my export.jsonl',
  "dev/o'hara",
  'dev/$HOME',
  'a`id`b',
  'say "a b"',
  "'$x'",
  'a!b',
  'a;b',
]) {
  test(`a shell reads ${word} in a pasted command as one word`, () => {
    assert.equal(execFileSync('sh', ['-c', `printf %s ${pasted(word)}`], { encoding: 'utf8' }), word);
  });
}
