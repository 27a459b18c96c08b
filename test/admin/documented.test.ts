import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { openAdmin } from './open-admin.ts';

test('docs/admin-api.md has a line for every operation of the API, and for no other', async (t) => {
  const admin = await openAdmin(t);
  const { paths } = admin.api.openApi() as { paths: Record<string, Record<string, unknown>> };
  const served = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.slice('/admin/v1'.length)}`),
  );
  const text = readFileSync(new URL('../../docs/admin-api.md', import.meta.url), 'utf8');
  const written = [...text.matchAll(/^\| `([A-Z]+ \/[^`]+)` \|/gm)].map(([, operation]) => operation);
  const unwritten = served.filter((operation) => !written.includes(operation));
  assert.ok(unwritten.length === 0, `Give these a line in a table of docs/admin-api.md: ${unwritten.join(', ')}`);
  assert.deepEqual(written.toSorted(), served.toSorted(), 'docs/admin-api.md has a line too many');
});
