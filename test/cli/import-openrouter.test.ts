import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { importOpenRouter } from '../../src/cli/import/import-openrouter.ts';
import { startGateway } from '../start-gateway.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';

/* What OpenRouter tells of an account, and what clients say of it, becomes models. The shapes are those of its API. */

const source = (name: string, value: unknown) => ({ name, text: JSON.stringify(value, null, 1) });

const usedModel = (model: string) => ({ date: '2026-08-24', model, model_permaslug: `${model}-2026`, requests: 5 });
const activity = source('activity.json', {
  data: [usedModel('openai/gpt-5'), usedModel('anthropic/claude-sonnet-4.5'), usedModel('openai/gpt-5')],
});
const presetOf = (slug: string, config: object, system_prompt: string | null = null) =>
  source(`${slug}.json`, { data: { slug, name: slug, designated_version: { version: 1, config, system_prompt } } });

function imported(...given: ReturnType<typeof source>[]) {
  const result = importOpenRouter(given);
  if (!result.ok) assert.fail(result.message);
  return result.imported;
}

test('used models keep their names, presets their models and preferences', () => {
  const provider = { order: ['anthropic', 'google-vertex'], allow_fallbacks: false };
  const { config, notes } = imported(
    activity,
    presetOf('cheap', {
      model: 'openai/gpt-5-mini',
      models: ['openai/gpt-5-mini', 'z-ai/glm-4.6'],
      provider,
      temperature: 0.2,
    }),
    presetOf('writer', { model: 'openai/gpt-5' }, 'You write.'),
    source('list.json', { data: [{ slug: 'other', designated_version_id: 'v1' }], total_count: 1 }),
  );
  assert.deepEqual(config.models, {
    'openai/gpt-5': { targets: ['openrouter/openai/gpt-5'] },
    'anthropic/claude-sonnet-4.5': { targets: ['openrouter/anthropic/claude-sonnet-4.5'] },
    '@preset/cheap': {
      targets: [
        { provider: 'openrouter', model: 'openai/gpt-5-mini', body: { provider } },
        { provider: 'openrouter', model: 'z-ai/glm-4.6', priority: 2, body: { provider } },
      ],
    },
    '@preset/writer': { targets: ['openrouter/@preset/writer'] },
    '@preset/other': { targets: ['openrouter/@preset/other'] },
  });
  const told = notes.map(({ file, line, path, message }) => `${file}:${line} ${path}: ${message}`).join('\n');
  assert.match(
    told,
    /^cheap\.json:\d+ data\.designated_version\.config\.temperature: not carried over: `body` of a target/m,
  );
  assert.match(
    told,
    /^writer\.json:\d+ .*stays at OpenRouter, which is asked for @preset\/writer: it has system_prompt/m,
  );
  assert.match(told, /^list\.json:3 .*give the answer of GET \/api\/v1\/presets\/other as a file too/m);
});

test('bodies of requests and configurations of clients tell models, preferences and names', () => {
  const { config, notes } = imported(
    source('requests.json', [
      { model: 'openai/gpt-5', models: ['x-ai/grok-4'], provider: { sort: 'price' }, messages: [] },
    ]),
    source('opencode.json', {
      provider: {
        openrouter: {
          options: { apiKey: 'in-clear-0001', headers: { 'X-Title': 'Ours', Cookie: 'in-clear-0002' } },
          models: { 'moonshotai/kimi-k2': { options: { provider: { order: ['baseten'], allow_fallbacks: false } } } },
        },
      },
    }),
    {
      name: 'config.yaml',
      text: `models:
  - { name: A, provider: openrouter, model: qwen/qwen3-embedding-8b, apiKey: in-clear-0003 }
  - { name: B, provider: ollama, model: llama3 }`,
    },
  );
  assert.deepEqual(config.models, {
    'openai/gpt-5': {
      targets: [
        { provider: 'openrouter', model: 'openai/gpt-5', body: { provider: { sort: 'price' } } },
        { provider: 'openrouter', model: 'x-ai/grok-4', priority: 2, body: { provider: { sort: 'price' } } },
      ],
    },
    'moonshotai/kimi-k2': {
      targets: [
        {
          provider: 'openrouter',
          model: 'moonshotai/kimi-k2',
          body: { provider: { order: ['baseten'], allow_fallbacks: false } },
        },
      ],
    },
    'qwen/qwen3-embedding-8b': { type: 'embedding', targets: ['openrouter/qwen/qwen3-embedding-8b'] },
  });
  assert.deepEqual(config.providers.openrouter!.headers, { 'X-Title': 'Ours' });
  const told = notes.map(({ file, line, message }) => `${file}:${line} ${message}`).join('\n');
  assert.match(told, /^config\.yaml:3 not carried over: it is a model of ollama/m);
  assert.match(told, /^opencode\.json:5 not carried over: OPENROUTER_API_KEY takes its place/m);
  assert.doesNotMatch(told, /in-clear/);
  const none = importOpenRouter([source('x.json', { a: 1 })]);
  assert.deepEqual(none, { ok: false, message: 'names no model of OpenRouter’s' });
});

test('the command writes a file that starts a gateway, which sends the preferences along', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const cwd = temporaryFolder(t);
  const preset = presetOf('broken-first', {
    model: 'mock/status=500',
    models: ['mock/status=500', 'mock/ok'],
    provider: { only: ['openai'] },
  });
  writeFileSync(join(cwd, preset.name), preset.text);
  const done = await runCommand(['import', 'openrouter', preset.name, '--json'], { cwd });
  assert.equal(done.code, 0, done.stderr);
  const report = JSON.parse(done.stdout) as { environment: string[]; models: number };
  assert.deepEqual([report.models, report.environment], [1, ['OPENROUTER_API_KEY']]);
  const written = parse(readFileSync(join(cwd, 'culvert.yaml'), 'utf8')) as {
    providers: { openrouter: Record<string, unknown> };
  };
  Object.assign(written.providers.openrouter, { base_url: `${upstream.url}/v1`, api_key: 'key-of-openrouter' });
  const gateway = await startGateway(t, { ...written });
  const json = { model: '@preset/broken-first', messages: [{ role: 'user', content: 'Hi' }] };
  const answer = await gateway.fetch('/v1/chat/completions', { json });
  assert.equal(answer.status, 200, await answer.text());
  const asked = upstream.requests().filter(({ path }) => path === '/v1/chat/completions');
  assert.deepEqual(
    asked.map(({ body }) => {
      const { model, provider } = body as { model: string; provider: unknown };
      return [model, provider];
    }),
    [
      ['mock/status=500', { only: ['openai'] }],
      ['mock/ok', { only: ['openai'] }],
    ],
  );
});
