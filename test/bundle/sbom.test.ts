import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../start-process.ts';

const sbom = new URL('../../scripts/sbom.mjs', import.meta.url).href;

test('the bill of materials names packages whose licence has parentheses of its own', async (t) => {
  const { listed } = (await import(sbom)) as { listed(file: string): string[] };
  const file = join(temporaryFolder(t), 'LICENSES.txt');
  writeFileSync(file, 'plain 1.0.0 (MIT)\n\nwords\n\n@a/both 2.1.0 ((MIT OR CC0-1.0) AND ISC)\n');
  assert.deepEqual(listed(file), ['plain@1.0.0', '@a/both@2.1.0']);
});
