import assert from 'node:assert/strict';
import { globSync, readFileSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { gate } from '../gates/ratchet.ts';

const step = 50_000;

gate(
  'bundle',
  async () => {
    const { ensureBundle } = (await import(String(new URL('../../scripts/build.mjs', import.meta.url)))) as {
      ensureBundle(): Promise<void>;
    };
    await ensureBundle();
    return globSync('dist/*.js').reduce((bytes, file) => bytes + statSync(file).size, 0);
  },
  { 'bytes, up to the next 50 kB': (bytes) => Math.ceil(bytes / step) * step },
);

test('the bundle has each check of the sources that is a call whose result nobody uses', () => {
  const empty = globSync('dist/*.js').flatMap((file) =>
    // The package debug asks whether this is a browser so.
    [...readFileSync(file, 'utf8').matchAll(/try \{\s*(?:return (?!localStorage;)[\w"'.-]+;)?\s*\} catch/g)].map(
      ({ input, index }) => `${file}: ${input.slice(Math.max(0, index - 80), index)}`,
    ),
  );
  assert.deepEqual(empty, []);
});
