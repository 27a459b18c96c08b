// `npm pack` and `npm publish` run this: src/ as JavaScript in dist/, for users whose packages cannot be TypeScript
// (Node strips no types below node_modules).
import { execFileSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
rmSync(join(root, 'dist'), { recursive: true, force: true });
execFileSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
// The entries of worker threads are JavaScript already; JSON is read as it lies (the lock of `culvert add`).
for (const file of globSync(['src/**/*.mjs', 'src/**/*.json'], { cwd: root })) {
  const to = join(root, file.replace(/^src/, 'dist'));
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(join(root, file), to);
}
