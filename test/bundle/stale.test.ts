import assert from 'node:assert/strict';
import { cpSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { culvertBin, runCommand, temporaryFolder } from '../start-process.ts';

const root = dirname(dirname(dirname(culvertBin)));
const says = (what: string) => `export const main = async () => void console.log(${JSON.stringify(what)});\n`;

test('a clone runs its bundle for as long as it is what the sources say, and never afterwards', async (t) => {
  const clone = temporaryFolder(t);
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(clone, file)), { recursive: true });
    writeFileSync(join(clone, file), text);
  };
  cpSync(join(root, 'bin'), join(clone, 'bin'), { recursive: true });
  for (const file of ['scripts/build.mjs', 'scripts/source-stamp.mjs']) cpSync(join(root, file), join(clone, file));
  write('package.json', '{"type":"module"}');
  write('package-lock.json', '{}');
  write('src/main.ts', says('sources'));
  write('src/kernel/clock.ts', 'export {};\n');
  const { sourceStamp } = (await import(String(new URL('../../scripts/source-stamp.mjs', import.meta.url)))) as {
    sourceStamp(root: string): string;
  };
  const ran = async (env: Readonly<Record<string, string>> = {}) => {
    const { stdout, stderr } = await runCommand([], { bin: join(clone, 'bin', 'culvert.mjs'), cwd: clone, env });
    assert.equal(stderr, '');
    return stdout.trim();
  };
  const build = () => write('dist/stamp', sourceStamp(clone));

  assert.equal(await ran(), 'sources');
  write('dist/main.js', says('bundle'));
  assert.equal(await ran(), 'sources', 'a bundle that does not say what it was made of');
  build();
  assert.equal(await ran(), 'bundle');
  write('src/kernel/clock.test.ts', 'export {};\n');
  assert.equal(await ran(), 'bundle', 'tests are not in it');

  // As its parent saw them: that holds for the same folder alone.
  assert.equal(await ran({ CULVERT_SOURCES: `${clone} other` }), 'sources');
  assert.equal(await ran({ CULVERT_SOURCES: `${clone}-other other` }), 'bundle');

  const changes: [string, () => void][] = [
    ['a file was edited', () => write('src/kernel/clock.ts', 'export { };\n')],
    ['a file was touched back in time', () => utimesSync(join(clone, 'src/kernel/clock.ts'), 1, 1)],
    ['a file came', () => write('src/kernel/random.ts', 'export {};\n')],
    ['a file went', () => rmSync(join(clone, 'src/kernel/random.ts'))],
    ['the packages changed', () => write('package-lock.json', '{ }')],
  ];
  for (const [what, change] of changes) {
    change();
    assert.equal(await ran(), 'sources', what);
    build();
    assert.equal(await ran(), 'bundle');
  }

  rmSync(join(clone, 'src'), { recursive: true });
  assert.equal(await ran(), 'bundle', 'a package has no sources');
});
