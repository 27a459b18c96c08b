import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/*
 * The vendors' SDKs for Python, each over a provider of every format. Their scripts hold what must come back and print
 * how often they looked.
 */

const env = {
  ...process.env,
  // Where `npm run setup:test-tools` puts them; those that the machine has by itself will do as well.
  PYTHONPATH: fileURLToPath(new URL('../../.test-tools/python', import.meta.url)),
  PYTHONDONTWRITEBYTECODE: '1',
  NO_PROXY: '*',
};

const sdks = {
  openai: { module: 'openai', script: 'openai_sdk.py' },
  anthropic: { module: 'anthropic', script: 'anthropic_sdk.py' },
  'google-genai': { module: 'google.genai', script: 'google_genai_sdk.py' },
};

function isInstalled(module: string): boolean {
  const find = `import importlib.util, sys; sys.exit(importlib.util.find_spec(${JSON.stringify(module)}) is None)`;
  return spawnSync('python3', ['-c', find], { env }).status === 0;
}

for (const [name, { module, script }] of Object.entries(sdks)) {
  test(`${name} for Python: whole, streamed, tools and refusals over every format`, {
    skip: isInstalled(module) ? false : `${name} for Python is not installed (npm run setup:test-tools)`,
  }, async (t) => {
    const upstream = await startUpstream({ models: ['mock/ok'] });
    t.after(() => upstream.close());
    const at = { base_url: `${upstream.url}/v1`, api_key: 'k' };
    const providers = {
      chat: { type: 'openai', ...at, dialects: ['openai-chat'] },
      responses: { type: 'openai', ...at, dialects: ['openai-responses'] },
      claude: { type: 'anthropic', ...at },
      google: { type: 'gemini', ...at, base_url: upstream.url },
    };
    const aliases = Object.keys(providers);
    const models = Object.fromEntries(aliases.map((alias) => [alias, { targets: [`${alias}/mock/ok`] }]));
    const gateway = await startGateway(t, { providers, models });
    const path = fileURLToPath(new URL(`python/${script}`, import.meta.url));
    const { stdout } = await promisify(execFile)('python3', [path, gateway.url, gateway.key, ...aliases], { env });
    assert.ok(Number(stdout) >= 20, stdout);
  });
}
