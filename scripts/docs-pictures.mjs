// The dashboard's pictures in docs/pictures, from the screenshots of the browser tests, with the same variable after
// CULVERT_SCREENSHOTS=FOLDER npm test -- test/browser/: FFmpeg makes them small. test/browser/pages.ts names them.
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const shots = process.env.CULVERT_SCREENSHOTS ?? '';
const pictures = join(root, 'docs/pictures');
const { docsPictures } = await import(pathToFileURL(join(root, 'test/browser/pages.ts')));

const screenshots = new Map(docsPictures.map(({ file, screenshot }) => [file, join(shots, `${screenshot}.png`)]));
const missing = [...screenshots.values()].filter((path) => !existsSync(path));
if (missing.length > 0) {
  console.error(`Run all browser tests with CULVERT_SCREENSHOTS first. These are missing:\n${missing.join('\n')}`);
  process.exit(1);
}
for (const old of globSync('dashboard-*.webp', { cwd: pictures })) {
  if (!screenshots.has(old)) rmSync(join(pictures, old));
}
for (const [file, from] of screenshots) {
  const quiet = ['-hide_banner', '-loglevel', 'error', '-y'];
  const { status } = spawnSync(
    'ffmpeg',
    [...quiet, '-i', from, '-c:v', 'libwebp', '-quality', '70', join(pictures, file)],
    {
      stdio: 'inherit',
    },
  );
  if (status !== 0) process.exit(1);
}
