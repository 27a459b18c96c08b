// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

/** As on a busy machine: each thread takes 1.5 s before its code loads. */
const slowThreads = `data:text/javascript,
  import { isMainThread } from 'node:worker_threads';
  if (!isMainThread) await new Promise((done) => setTimeout(done, 1500));`;

const checksOne = `
  // A thread alone does not keep its process.
  const timer = setInterval(() => undefined, 1000);
  import(${JSON.stringify(new URL('./schema-check.ts', import.meta.url).href)}).then(async ({ createSchemaCheck }) => {
    const check = createSchemaCheck();
    console.log(JSON.stringify(await check.look('dev', '{"name":7}', { properties: { name: { type: 'string' } } })));
    clearInterval(timer);
    await check.close();
  });`;

test('the first answer is checked, though the thread that checks it loads for longer than a check may take', async () => {
  const options = ['--import', slowThreads, '--eval', checksOne];
  const { stdout } = await promisify(execFile)(process.execPath, options, { timeout: 60_000 });
  assert.match(JSON.parse(stdout)?.why ?? 'nobody checked it', /string/);
});
