// The dashboard's pictures in docs/pictures, from the screenshots of the browser tests, with the same variable after
// CULVERT_SCREENSHOTS=FOLDER npm test -- test/browser/: FFmpeg makes them small.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const shots = process.env.CULVERT_SCREENSHOTS ?? join(tmpdir(), 'culvert-screenshots');
const pictures = join(dirname(dirname(fileURLToPath(import.meta.url))), 'docs/pictures');

/** By the names of `shoot` in test/browser. */
const names = [
  'overview-desktop-light',
  'overview-phone-dark',
  'requests-desktop-light',
  'request-desktop-light',
  'usage-desktop-light',
  'provider-desktop-light',
  'model-desktop-dark',
  'playground-desktop-light',
  'account-desktop-light',
  'key-desktop-light',
  'plan-desktop-light',
  'jobs-batches-desktop-light',
  'mcp-server-tried-desktop-light',
  'agent-desktop-light',
  'session-desktop-light',
  'replicas-desktop-light',
  'guard-desktop-light',
  'rule-classes-desktop-light',
  'prompt-desktop-light',
  'tools-scrape-desktop-light',
  'settings-desktop-light',
];

for (const name of names) {
  const from = join(shots, `${name}.png`);
  if (!existsSync(from)) {
    console.error(`${from} is not there: run the browser tests with CULVERT_SCREENSHOTS first.`);
    process.exit(1);
  }
  const to = join(pictures, `dashboard-${name.replace(/-desktop-(light|dark)$/, '')}.webp`);
  const quiet = ['-hide_banner', '-loglevel', 'error', '-y'];
  const { status } = spawnSync('ffmpeg', [...quiet, '-i', from, '-c:v', 'libwebp', '-quality', '80', to], {
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(1);
}
