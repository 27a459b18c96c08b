// Installs the coding assistants that `npm run test:assistants` runs, 1.2 GB of them, beside the repository's packages.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const assistants = {
  '@anthropic-ai/claude-code': '2.1.332',
  '@continuedev/cli': '1.5.47',
  '@openai/codex': '0.171.0',
  'opencode-ai': '1.18.33',
};

/** Newer npm runs no install script without it, and some fetch their program by one. */
const allowScripts = Object.fromEntries(Object.keys(assistants).map((name) => [name, true]));

const folder = join(dirname(dirname(fileURLToPath(import.meta.url))), '.test-tools', 'assistants');
mkdirSync(folder, { recursive: true });
writeFileSync(
  join(folder, 'package.json'),
  `${JSON.stringify({ private: true, dependencies: assistants, allowScripts }, null, 2)}\n`,
);
const { status } = spawnSync('npm', ['install', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'inherit' });
process.exit(status ?? 1);
