import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
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
    /^writer\.json:\d+ .*stays at OpenRouter, which Culvert asks for @preset\/writer: it has system_prompt/m,
  );
  assert.match(told, /^list\.json:3 .*give the answer of GET \/api\/v1\/presets\/other as a file, too/m);
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
  assert.deepEqual(none, { ok: false, message: 'names no model or key of OpenRouter' });
});

/* Columns as the Activity page exports them; a cell in quotes may hold commas, quotes and line breaks. */
const csv = (...rows: string[]) => ({
  name: 'openrouter_activity.csv',
  text: [
    '\uFEFFgeneration_id,created_at,cost_total,model_permaslug,provider_name,variant,api_key_name,app_name',
    ...rows,
    '',
  ].join('\r\n'),
});

test('the CSV of the activity page tells models by their slugs, which the list of models translates', () => {
  const activityCsv = csv(
    'gen-1,2026-08-24 10:00:00.000,0.01,openai/gpt-5-2025-08-07,OpenAI,standard,ci,"Ours, ""new""\r\nand old"',
    'gen-2,2026-08-24 10:00:01.000,0,z-ai/glm-4.6-20250930,Z.AI,free,ci,',
    'gen-3,2026-08-24 10:00:02.000,0,qwen/qwen9-20260801,Alibaba,standard,ci,',
    'gen-4,2026-08-24 10:00:03.000,0,qwen/qwen9-20260801,Alibaba,standard,ci,',
    'gen-5,2026-08-24 10:00:04.000,0,last/model-2026,Last,standard,ci,',
  );
  const list = source('models.json', {
    data: [
      { id: 'openai/gpt-5', canonical_slug: 'openai/gpt-5-2025-08-07', architecture: { modality: 'text->text' } },
      { id: 'z-ai/glm-4.6:free', canonical_slug: 'z-ai/glm-4.6-20250930' },
      { id: 'last/model', canonical_slug: 'last/model-2026' },
      { id: 'not/used', canonical_slug: 'not/used-2026' },
    ],
  });
  const { config, notes } = imported(activityCsv, list);
  assert.deepEqual(config.models, {
    'openai/gpt-5': { targets: ['openrouter/openai/gpt-5'] },
    'z-ai/glm-4.6:free': { targets: ['openrouter/z-ai/glm-4.6:free'] },
    'qwen/qwen9-20260801': { targets: ['openrouter/qwen/qwen9-20260801'] },
    'last/model': { targets: ['openrouter/last/model'] },
  });
  assert.deepEqual(
    notes.map(({ file, line, path }) => `${file}:${line} ${path}`),
    // The cell of the first row has two lines.
    ['openrouter_activity.csv:5 [2].model_permaslug'],
  );
  assert.match(notes[0]!.message, /^qwen\/qwen9-20260801 .*GET \/api\/v1\/models as a file, too/);
  const cut = { ...activityCsv, text: activityCsv.text.trimEnd() };
  assert.deepEqual(imported(cut, list).config.models, config.models, 'the last line needs no line break');
  const broken = importOpenRouter([csv('gen-1,"open,x', 'y')]);
  assert.deepEqual(broken, { ok: false, message: 'is not valid CSV at line 2' });
  const quotes = '""'.repeat(4_000_000);
  assert.deepEqual(importOpenRouter([csv(`gen-1,"${quotes}`)]), broken);
  const long = { ...activityCsv, text: `${activityCsv.text.trimEnd()}\ngen-9,,,"${quotes}"` };
  assert.deepEqual(imported(long, list).config.models, config.models, 'a cell may be as long as the file');
});

test('a model may be called as a member of every object is', () => {
  const { config } = imported(source('body.json', { model: 'toString', provider: { sort: 'price' } }));
  assert.deepEqual(Object.keys(config.models), ['toString']);
});

test('names in a file steer no terminal, and each note is one line', async (t) => {
  const cwd = temporaryFolder(t);
  const { name, text } = csv(
    'gen-1,2026-08-24 10:00:00.000,0.01,"a\u001b[2J/b\nc",A,standard,ci,',
    'gen-2,2026-08-24 10:00:00.000,0.01,good/model,A,standard,ci,',
  );
  writeFileSync(join(cwd, name), text);
  const { code, stderr } = await runCommand(['import', 'openrouter', name], { cwd });
  assert.equal(code, 0, stderr);
  assert.match(stderr, /a \[2J\/b c/);
  assert.ok(!stderr.includes('\u001b'));
});

const keyOf = (secret: string, name: string, more: object = {}) => ({
  hash: hash('sha256', secret),
  name,
  label: 'sk-or-v1-0e6...c96',
  disabled: false,
  limit: null,
  limit_reset: null,
  include_byok_in_limit: false,
  usage: 25.5,
  ...more,
});

test('keys keep their secrets, their budgets become rolling windows, and dead ones are named', () => {
  const first = keyOf('sk-or-v1-first', 'My key', { limit: 20, limit_reset: 'weekly' });
  const { config, notes } = imported(
    source('keys.json', {
      data: [
        first,
        keyOf('sk-or-v1-second', 'My key', { limit: 10, limit_reset: 'daily', expires_at: '2099-01-01T00:00:00Z' }),
        keyOf('sk-or-v1-third', 'free'),
        keyOf('sk-or-v1-off', 'off', { disabled: true }),
        keyOf('sk-or-v1-old', 'old', { expires_at: '2020-01-01T00:00:00Z' }),
        { ...keyOf('x', 'odd'), hash: 'sk-or-v1-0e6f44a47a05f1da' },
      ],
    }),
    source('next-page.json', { data: [first] }),
  );
  assert.deepEqual(config.models, {});
  assert.deepEqual(config.accounts, { openrouter: {} });
  assert.deepEqual(config.keys, [
    { sha256: first.hash, account: 'openrouter', name: 'My-key', limits: { budget: { week: 20 } } },
    {
      sha256: hash('sha256', 'sk-or-v1-second'),
      account: 'openrouter',
      name: 'My-key-2',
      expires: '2099-01-01T00:00:00.000Z',
      limits: { calendar_budget: { day: 10 } },
    },
    { sha256: hash('sha256', 'sk-or-v1-third'), account: 'openrouter', name: 'free' },
  ]);
  const told = notes.map(({ path, message }) => `${path}: ${message}`).join('\n');
  assert.doesNotMatch(told, /^data\[1\]/m);
  assert.match(told, /^data\[3\]: the key off is not carried over: it is disabled$/m);
  assert.match(told, /^data\[4\]: the key old is not carried over: it has expired$/m);
  assert.match(told, /^data\[5\]: the key odd is not carried over: its hash is not a SHA-256/m);
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
  const secret = 'sk-or-v1-of-a-caller';
  const keys = source('keys.json', { data: [keyOf(secret, 'caller', { limit: 5, limit_reset: 'monthly' })] });
  for (const { name, text } of [preset, keys]) writeFileSync(join(cwd, name), text);
  const done = await runCommand(['import', 'openrouter', preset.name, keys.name, '--json'], { cwd });
  assert.equal(done.code, 0, done.stderr);
  const report = JSON.parse(done.stdout) as { environment: string[]; models: number; keys: number };
  assert.deepEqual([report.models, report.keys, report.environment], [1, 1, ['OPENROUTER_API_KEY']]);
  const written = parse(readFileSync(join(cwd, 'culvert.yaml'), 'utf8')) as {
    providers: { openrouter: Record<string, unknown> };
  };
  Object.assign(written.providers.openrouter, { base_url: `${upstream.url}/v1`, api_key: 'key-of-openrouter' });
  const gateway = await startGateway(t, { ...written });
  const json = { model: '@preset/broken-first', messages: [{ role: 'user', content: 'Hi' }] };
  const headers = { authorization: `Bearer ${secret}` };
  const answer = await gateway.fetch('/v1/chat/completions', { json, headers });
  assert.equal(answer.status, 200, await answer.text());
  const unknown = { authorization: 'Bearer sk-or-v1-of-nobody' };
  assert.equal((await gateway.fetch('/v1/chat/completions', { json, headers: unknown })).status, 401);
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

test('a field that no table knows is noted', () => {
  const { notes } = imported(presetOf('new', { model: 'openai/gpt-5', stream: true, verbosity: 'low', seed: null }));
  assert.deepEqual(
    notes.map(({ path, message }) => `${path}: ${message}`),
    ['data.designated_version.config.verbosity: not carried over: Culvert does not know this field'],
  );
});
