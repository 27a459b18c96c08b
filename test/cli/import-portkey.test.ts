import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { importPortkey } from '../../src/cli/import/import-portkey.ts';
import { startGateway } from '../start-gateway.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';

/* Configs of Portkey's and its lists of virtual keys become models and providers. */

const folder = fileURLToPath(new URL('portkey/', import.meta.url));
const sources = ['configs.json', 'virtual-keys.json'].map((name) => ({
  name,
  text: readFileSync(join(folder, name), 'utf8'),
}));

function imported(...given: typeof sources) {
  const result = importPortkey(given);
  if (!result.ok) assert.fail(result.message);
  return result.imported;
}

test('strategies become priorities and weights, virtual keys variables', () => {
  const { config, variables } = imported(...sources);
  assert.deepEqual(config.models, {
    'pc-smart-1a2b': {
      targets: [
        { provider: 'openai-prod-1111', model: 'gpt-5', weight: 0.75, body: { service_tier: 'flex' } },
        { provider: 'azure-eu-2222', model: 'gpt-5-eu', weight: 0.25 },
        { provider: 'anthropic', model: 'claude-sonnet-4-5', priority: 2, timeouts: { total: '20s' } },
      ],
      attempts: 3,
    },
    fast: { targets: ['openai-prod-1111/gpt-5-mini'] },
    'pc-router-3c4d/large': { targets: ['openai-prod-1111/gpt-5'] },
    'pc-router-3c4d': { targets: ['openai-prod-1111/gpt-5-mini'] },
    'pc-cloud': { targets: ['bedrock/amazon.nova-lite-v1:0'] },
    'pc-catalog': { targets: ['groq-team/llama-3.3-70b-versatile'] },
    'claude-*': { targets: ['anthropic-main/*'] },
  });
  const references = (name: string) => `\${${name}}`;
  assert.deepEqual(config.providers, {
    'openai-prod-1111': {
      type: 'openai',
      credentials: [{ api_key: references('OPENAI_PROD_1111_API_KEY'), rpm: 500 }],
    },
    'azure-eu-2222': {
      type: 'azure-openai',
      base_url: 'https://team-eu.openai.azure.com/',
      api_version: '2025-01-01-preview',
      api_key: references('AZURE_EU_2222_API_KEY'),
    },
    anthropic: { type: 'anthropic', api_key: 'in-clear-0001' },
    'anthropic-main': { type: 'anthropic', api_key: references('ANTHROPIC_MAIN_API_KEY') },
    bedrock: {
      type: 'bedrock',
      region: 'us-east-1',
      aws: { access_key_id: 'AKIA0', secret_access_key: 'in-clear-0002' },
    },
    'groq-team': { type: 'groq', api_key: references('GROQ_TEAM_API_KEY') },
  });
  assert.equal(variables.size, 4);
});

test('what has no place is told with its file and line, and no note repeats a secret', () => {
  const told = imported(...sources).notes.map(({ file, line, path, message }) => `${file}:${line} ${path}: ${message}`);
  for (const wanted of [
    /^configs\.json:10 data\[0\]\.config\.cache: not carried over: models\.NAME\.cache caches answers/,
    /^configs\.json:21 data\[0\].*this target is not carried over: its weight is 0/,
    /^configs\.json:26 .*api_key: a secret in plain text, carried over as it is/,
    /^configs\.json:29 .*output_guardrails: not carried over: guards of a model, a plan or server check texts/,
    /^configs\.json:36 .*callers choose the model pc-router-3c4d\/large themselves/,
    /^configs\.json:55 .*provider: this target is not carried over: there is no provider for nobody-knows/,
    /^virtual-keys\.json:11 .*rate_limits: not carried over: a credential is limited only by requests per minute/,
    /^virtual-keys\.json:10 .*usage_limits: not carried over: a budget belongs to a plan/,
  ]) {
    assert.ok(
      told.some((line) => wanted.test(line)),
      `${wanted} in\n${told.join('\n')}`,
    );
  }
  assert.doesNotMatch(told.join('\n'), /in-clear/);
});

test('without the list of virtual keys it takes their provider from their names, and says so', () => {
  const { config, notes } = imported(sources[0]!);
  assert.equal(config.providers['openai-prod-1111']!.type, 'openai');
  assert.ok(notes.some(({ message }) => message === 'the key openai-prod-1111 is taken to be of openai, by its name'));
  const alone = importPortkey([{ name: 'c.json', text: '{"virtual_key": "main-258f4d"}' }]);
  assert.ok(!alone.ok);
  assert.match(
    alone.message,
    /line 1: .* nothing says whose main-258f4d is; give the answer of GET \/v1\/virtual-keys/,
  );
  const none = importPortkey([{ name: 'c.json', text: '{}' }]);
  assert.deepEqual(none, { ok: false, message: 'holds no config of Portkey' });
});

test('a config without a model leaves it to its callers', () => {
  const text = '{"strategy": {"mode": "loadbalance"}, "targets": [{"provider": "openai"}, {"provider": "openrouter"}]}';
  const { config } = imported({ name: 'both.json', text });
  assert.deepEqual(config.models, { 'both/*': { targets: ['openai/*', 'openrouter/*'], attempts: 2 } });
});

test('of a condition within another strategy the default is carried over, and named targets outside of one all are', () => {
  const target = (name: string) => ({ name, provider: 'openai', override_params: { model: `${name}-model` } });
  const inner = { strategy: { mode: 'conditional', default: 'b' }, targets: [target('a'), target('b')] };
  const text = JSON.stringify({ strategy: { mode: 'fallback' }, targets: [inner, target('c'), target('d')] });
  const { config, notes } = imported({ name: 'nested.json', text });
  assert.deepEqual(config.models.nested!.targets, [
    'openai/b-model',
    { provider: 'openai', model: 'c-model', priority: 2 },
    { provider: 'openai', model: 'd-model', priority: 3 },
  ]);
  assert.ok(notes.some(({ message }) => /condition inside another strategy .* its default is taken/.test(message)));
});

test('targets add to the parameters around them, keep their retries, and get no key of another provider', () => {
  const text = JSON.stringify({
    provider: 'openai',
    api_key: 'in-clear',
    override_params: { model: 'gpt-5', max_tokens: 100 },
    strategy: { mode: 'sample' },
    targets: [
      { override_params: { temperature: 0 }, retry: { attempts: 5 }, openai_project: 'proj-1' },
      { virtual_key: 'anthropic-main', override_params: { model: 'claude-sonnet-4-5' } },
    ],
  });
  const { config, notes } = imported({ name: 'around.json', text });
  const body = { max_tokens: 100 };
  assert.deepEqual(config.models.around, {
    targets: [
      { provider: 'openai', model: 'gpt-5', body: { ...body, temperature: 0 } },
      { provider: 'anthropic-main', model: 'claude-sonnet-4-5', priority: 2, body },
    ],
    attempts: 6,
  });
  assert.deepEqual(config.providers.openai!.headers, { 'OpenAI-Project': 'proj-1' });
  assert.deepEqual(config.providers['anthropic-main'], {
    type: 'anthropic',
    api_key: `\${${'ANTHROPIC_MAIN_API_KEY'}}`,
  });
  assert.ok(notes.some(({ message }) => /its targets are asked one after the other/.test(message)));
});

test('an address is carried over without its user and password', () => {
  const text = '{"provider": "openai", "custom_host": "https://user:in-clear@llm.example/v1?key=in-clear"}';
  const { config, notes } = imported({ name: 'host.json', text });
  assert.equal(config.providers.openai!.base_url, 'https://llm.example/v1');
  assert.deepEqual(
    notes.map(({ path, message }) => `${path}: ${message}`),
    ['custom_host: carried over without its user, password, query and fragment'],
  );
});

test('the command writes a file that starts a gateway, which falls back as the config says', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const cwd = temporaryFolder(t);
  cpSync(folder, cwd, { recursive: true });
  const target = (model: string, key: string) => ({
    provider: 'openai',
    custom_host: `${upstream.url}/v1`,
    api_key: key,
    override_params: { model },
  });
  const config = {
    strategy: { mode: 'fallback' },
    targets: [target('mock/status=500', 'key-a'), target('mock/ok', 'key-b')],
  };
  writeFileSync(join(cwd, 'smart.json'), JSON.stringify(config));
  const done = await runCommand(['import', 'portkey', 'smart.json'], { cwd });
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.stdout, /^Wrote culvert\.yaml: providers 2, models 1, notes 2\.$/m);
  assert.match(done.stderr, /^smart\.json:1 targets\[0\]\.api_key: a secret in plain text/m);
  const gateway = await startGateway(
    t,
    parse(readFileSync(join(cwd, 'culvert.yaml'), 'utf8')) as Record<string, unknown>,
  );
  const json = { model: 'smart', messages: [{ role: 'user', content: 'Hi' }] };
  const answer = await gateway.fetch('/v1/chat/completions', { json });
  assert.equal(answer.status, 200, await answer.text());
  const asked = upstream.requests().filter(({ path }) => path === '/v1/chat/completions');
  assert.deepEqual(
    asked.map(({ headers }) => headers.authorization),
    ['Bearer key-a', 'Bearer key-b'],
  );
  const both = await runCommand(
    ['import', 'portkey', 'configs.json', 'virtual-keys.json', '--output', 'other.yaml', '--json'],
    { cwd },
  );
  assert.equal(both.code, 0, both.stderr);
  const report = JSON.parse(both.stdout) as { models: number; environment: string[]; notes: { file: string }[] };
  assert.equal(report.models, 7);
  assert.ok(report.environment.includes('OPENAI_PROD_1111_API_KEY'));
  assert.ok(report.notes.some(({ file }) => file === 'virtual-keys.json'));
});

test('a field that no table knows is noted', () => {
  const config = { provider: 'openai', override_params: { model: 'gpt-5' }, api_key: 'k', new_thing: { at: 1 } };
  const { notes } = imported({ name: 'c.json', text: JSON.stringify({ slug: 'one', config }) });
  const [note] = notes.filter(({ message }) => message.includes('does not know'));
  assert.match(String(note?.path), /new_thing$/);
});
