import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';

/*
 * What a start loads before it listens, which everybody waits for at every start. Another package or a hundred files
 * more are a third of a second on a small machine: import them where they are used first, or in `main/more-routes`.
 */

/** With what they bring along. */
const packages = new Set([
  'yaml',
  'zod',
  // Of pino.
  'pino',
  '@pinojs/redact',
  'atomic-sleep',
  'on-exit-leak-free',
  'pino-std-serializers',
  'quick-format-unescaped',
  'safe-stable-stringify',
  'sonic-boom',
  'thread-stream',
]);

const ownFilesMax = 410;

interface Loaded {
  modules: string[];
  builtins: string[];
}

async function loadedByStart(t: TestContext): Promise<Loaded> {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-test-'));
  const file = join(folder, 'culvert.yaml');
  // A provider of each dialect that a start knows beside chat would load more, and a missing one the simulator.
  writeFileSync(
    file,
    `server: { port: 0 }
storage: { data_dir: ${JSON.stringify(join(folder, 'data'))} }
providers: { up: { type: openai, base_url: 'http://127.0.0.1:9/v1', api_key: none } }
models: { chat: { targets: [ { provider: up, model: one } ] } }
autodetect: off
`,
  );
  const program = fileURLToPath(new URL('./what-a-start-loads.mjs', import.meta.url));
  const gateway = fork(program, ['start', '--config', file], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const gone = once(gateway, 'exit');
  t.after(async () => {
    gateway.kill('SIGKILL');
    await gone;
    rmSync(folder, { recursive: true, force: true });
  });
  const told = await Promise.race([once(gateway, 'message'), gone]);
  assert.equal(typeof told[0], 'object', 'it listens');
  return told[0] as Loaded;
}

test('a start loads few packages and files before it listens, and nothing of Node that comes unasked', async (t) => {
  const { modules, builtins } = await loadedByStart(t);
  const names = modules.flatMap((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
  assert.deepEqual(
    [...new Set(names)].filter((name) => !packages.has(name)),
    [],
    'packages that were not loaded before',
  );
  const own = modules.filter((url) => url.includes('/src/'));
  assert.ok(own.length > 100 && own.length <= ownFilesMax, `${own.length} files of our own`);
  // For `fetch` and `WebSocket`, which nothing of ours uses (kernel/node-http), and for upstreams by TLS.
  const unasked = ['NativeModule internal/deps/undici/undici', 'NativeModule tls'];
  assert.deepEqual(
    builtins.filter((name) => unasked.includes(name)),
    [],
  );
});
