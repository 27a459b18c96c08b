import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openToolsWorld } from '../server-tools/world.ts';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startMcpServer } from '../start-mcp-server.ts';
import { startUpstream } from '../start-upstream.ts';
import { startAwkwardSite } from '../tools/awkward-site.ts';

/*
 * The vendors' SDKs for Python, each over a provider of every format, and Qdrant's over the vector store. Their scripts
 * hold what must come back and print how often they looked.
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

/** How often the script looked: it ends with an error at the first thing that is not as it must be. */
async function run(script: string, args: readonly string[]): Promise<number> {
  const path = fileURLToPath(new URL(`python/${script}`, import.meta.url));
  const { stdout } = await promisify(execFile)('python3', [path, ...args], { env });
  return Number(stdout);
}

const skipWithout = (name: string, module: string) =>
  isInstalled(module) ? false : `${name} for Python is not installed (npm run setup:test-tools)`;

for (const [name, { module, script }] of Object.entries(sdks)) {
  test(`${name} for Python: whole, streamed, tools and refusals over every format`, {
    skip: skipWithout(name, module),
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
    assert.ok((await run(script, [gateway.url, gateway.key, ...aliases])) >= 20);
  });
}

test('openai for Python: embeddings over every format, and the models that are always there', {
  skip: skipWithout('openai', 'openai'),
}, async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const at = (path: string) => ({ base_url: upstream.url + path, api_key: 'k' });
  const providers = {
    openai: { type: 'openai', ...at('/v1') },
    cohere: { type: 'cohere', ...at('/compatibility/v1') },
    google: { type: 'gemini', ...at('/v1beta') },
    ollama: { type: 'ollama', ...at('/v1') },
    tei: { type: 'tei', ...at('') },
  };
  const aliases = Object.keys(providers);
  const models = Object.fromEntries(
    aliases.map((alias) => [alias, { type: 'embedding', targets: [`${alias}/gemini-embedding-001`] }]),
  );
  const gateway = await startGateway(t, { providers, models });
  await gateway.modelsKnown;
  const looks = await run('openai_embeddings_sdk.py', [gateway.url, gateway.key, ...aliases, 'culvert-lexical-1024']);
  assert.ok(looks >= 50);
});

test('openai-agents for Python: state, own and hosted tools, MCP, approvals and handoffs over every format', {
  skip: skipWithout('openai-agents', 'agents'),
}, async (t) => {
  const server = await startMcpServer(t);
  const { gateway } = await openToolsWorld(t, { fetch: { allow_private: [server.place] } });
  const collections = '/v1/vectors/collections';
  await gateway.fetch(collections, { json: { name: 'docs', embedding_model: 'culvert-lexical-1024' } });
  await gateway.fetch(`${collections}/docs/points`, { json: { points: [{ id: 1, payload: { text: 'mock' } }] } });
  const args = [gateway.url, gateway.key, server.url, 'chat', 'claude', 'native'];
  assert.ok((await run('openai_agents_sdk.py', args)) >= 60);
});

test('qdrant-client for Python: collections and points, below /v1/vectors and at the root', {
  skip: skipWithout('qdrant-client', 'qdrant_client'),
}, async (t) => {
  const gateway = await startGateway(t);
  assert.ok((await run('qdrant_sdk.py', [gateway.url, gateway.key])) >= 40);
});

test('firecrawl-py: scrapes, maps, searches, crawls, batches and what is left, at the root', {
  skip: skipWithout('firecrawl-py', 'firecrawl'),
}, async (t) => {
  const site = await startAwkwardSite(t, {});
  const plan = { windows: { '5h': 'off', week: 'off', month: 1_000 }, rpm: 'off', concurrency: 20 };
  const upstream = await startUpstream({ models: ['mock/ok'] });
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    ...overUpstreams(upstream.url),
    fetch: { allow_private: [site.place] },
    tools: { crawl: { delay: '0ms' } },
    plans: { default: plan },
  });
  assert.ok((await run('firecrawl_sdk.py', [gateway.url, gateway.key, site.url])) >= 40);
});
