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
  assert.deepEqual(written.toSorted(), served.toSorted());
});
