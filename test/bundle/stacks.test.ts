import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { promisify } from 'node:util';

/** `npm test` has built dist/. */
const run = promisify(execFile);
const address = (file: string) => JSON.stringify(String(new URL(`../../${file}`, import.meta.url)));

test('a stack of the bundle names files and lines of the sources, also in a thread', async () => {
  const fail = `
    import { nameSourcesInStacks } from ${address('bin/source-maps.mjs')};
    nameSourcesInStacks();
    const { convertRequest } = await import(${address('dist/formats.js')});
    try { convertRequest({ from: 'nobody' }, 'chat', 'messages'); } catch (error) { console.log(error.stack); }
    console.log(new Error('of no bundle').stack);
    const broken = new Error('broken'); broken.message = { toString() { throw broken; } };
    console.log(broken.stack.split('\\n').length > 1);`;
  const inThread = `
    import { Worker } from 'node:worker_threads';
    new Worker(new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(fail)})));`;
  for (const program of [fail, inThread]) {
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program]);
    assert.match(stdout, /^\s+at .*\/src\/library\/formats\/[\w-]+\.ts:[1-9]\d*:[1-9]\d*/m);
    assert.match(stdout, /^Error: of no bundle\n {4}at /m);
    assert.match(stdout, /true\s*$/);
    assert.doesNotMatch(stdout, /dist\/formats\.js:/);
  }
});

test('each file of the bundle has characters of one byte alone', () => {
  // One other, and V8 keeps the whole file in twice the memory.
  const wide = globSync('dist/*.js').filter((file) => /[^\0-\xff]/.test(readFileSync(file, 'utf8')));
  assert.deepEqual(wide, []);
});
