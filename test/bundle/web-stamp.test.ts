import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../start-process.ts';

const { webStamp } = (await import(String(new URL('../../scripts/web-stamp.mjs', import.meta.url)))) as {
  webStamp(root: string): string;
};

test('the stamp of the dashboard changes with each of its sources, and not with what a build leaves', (t) => {
  const root = temporaryFolder(t);
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  const changes = (file: string) => {
    const before = webStamp(root);
    write(file, 'changed');
    return webStamp(root) !== before;
  };
  const shared = ['src/admin/csv.ts', 'src/admin/roles.ts', 'src/books/metering/window.ts', 'src/guards/kinds.ts'];
  const sources = [...shared, 'web/src/pages/cache/page.tsx', 'web/docs/page.md', 'docs/caching.md'];
  for (const file of ['package-lock.json', 'scripts/build-web.mjs', ...sources]) write(file, 'first');
  assert.deepEqual(
    sources.filter((file) => !changes(file)),
    [],
  );
  const built = ['web/dist/index.html', 'web/node_modules/.vite/a.js', 'web/docs/.vitepress/cache/deps/a.js'];
  assert.deepEqual(built.filter(changes), []);
});
