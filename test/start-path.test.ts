import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';

/*
 * Modules that a start loads before it listens, which everybody waits for at every start and keeps in memory. Packages
 * that are large or that few need are imported where they are used first.
 */

/** With their own dependencies. */
const packages = new Set([
  'yaml',
  'zod',
  'ipaddr.js',
  'robots-parser',
  '@fastify/busboy',
  // Of find-my-way.
  'find-my-way',
  'fast-deep-equal',
  'fast-querystring',
  'fast-decode-uri-component',
  'safe-regex2',
  'ret',
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

interface Loaded {
  modules: string[];
  builtins: string[];
}

async function loadedByStart(t: TestContext): Promise<Loaded> {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-test-'));
  const file = join(folder, 'culvert.yaml');
  // Without a provider it would load the simulator.
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

test('a start loads few packages before it listens, and nothing of Node that comes unasked', async (t) => {
  const { modules, builtins } = await loadedByStart(t);
  const names = modules.flatMap((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
  assert.ok(names.includes('zod'), 'it sees what is loaded');
  assert.deepEqual(
    [...new Set(names)].filter((name) => !packages.has(name)),
    [],
    'packages that were not loaded before',
  );
  // For `fetch` and `WebSocket`, which nothing of ours uses (kernel/web/node-http): 14 MB.
  assert.ok(!builtins.includes('NativeModule internal/deps/undici/undici'));
});
