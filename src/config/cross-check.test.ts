import assert from 'node:assert/strict';
import test from 'node:test';
import { checkConfigText } from './check.ts';
import { formatProblem } from './problem.ts';

const providers = 'providers: { openai: { type: openai, api_key: x }, local: { type: ollama } }\n';

function errorsOf(text: string): string[] {
  const result = checkConfigText(text, 'c', {});
  return result.ok ? [] : result.errors.map((error) => formatProblem(error).replace(/^\S+ /, ''));
}

test('a target names a provider of the file, or one that is there without it', () => {
  const models = 'models: { a: { targets: [openia/gpt, local/q] } }';
  assert.deepEqual(errorsOf(providers + models), [
    "models.a.targets[0]: there is no such provider (did you mean 'openai'?)",
  ]);
  const implicit = checkConfigText(models, 'c', {}, { implicitProviders: ['openia', 'local'] });
  assert.ok(implicit.ok);
});

test('a fallback names an alias or matches a pattern, and never leads back', () => {
  const models = (text: string) => `${providers}models:\n${text}`;
  assert.deepEqual(
    errorsOf(models('  a: { targets: [local/q], fallbacks: [smal] }\n  small: { targets: [local/q] }')),
    ["models.a.fallbacks[0]: there is no such model (did you mean 'small'?)"],
  );
  assert.deepEqual(
    errorsOf(models('  a: { targets: [local/q], fallbacks: [b-1] }\n  "b-*": { targets: ["local/*"] }')),
    [],
  );
  assert.deepEqual(
    errorsOf(models('  "a-*": { targets: ["local/*"], fallbacks: ["b-*"] }\n  "b-*": { targets: ["local/*"] }')),
    [],
  );
  assert.deepEqual(
    errorsOf(models('  a: { targets: [local/q], fallbacks: ["b-*"] }\n  "b-*": { targets: ["local/*"] }')),
    ['models.a.fallbacks[0]: a * in a fallback needs a * in the alias, whose match it stands for'],
  );
  assert.deepEqual(errorsOf(models('  a: { targets: [local/q], fallbacks: [a] }')), [
    'models.a.fallbacks[0]: this fallback leads back to the model itself',
  ]);
  assert.deepEqual(
    errorsOf(
      models(`  a: { targets: [local/q], fallbacks: [b] }
  b: { targets: [local/q], fallbacks: [c] }
  c: { targets: [local/q], fallbacks: [a] }
  d: { targets: [local/q], fallbacks: [a] }`),
    ),
    ['a', 'b', 'c'].map((name) => `models.${name}.fallbacks[0]: this fallback leads back to the model itself`),
  );
  assert.deepEqual(
    errorsOf(models('  a: { targets: [local/q], fallbacks: [e] }\n  e: { type: embedding, targets: [local/e] }')),
    ['models.a.fallbacks[0]: a model of type chat cannot fall back to one of type embedding'],
  );
});

test('a * in a target needs one in the alias', () => {
  assert.deepEqual(
    errorsOf(`${providers}models: { a: { targets: ["local/q-*"] }, "b-*": { targets: ["local/q-*"] } }`),
    ['models.a.targets[0]: a * in a target needs a * in the alias, whose match it stands for'],
  );
});

test('an embedding model never leaves its vector space', () => {
  const embedding = (model: string) => `${providers}models:\n  e: { type: embedding, ${model} }\n`;
  const several =
    'models.e.targets: several targets of an embedding model must declare the same space, on the model or on each';
  const fallback = 'models.e.fallbacks[0]: an embedding model and its fallback must declare the same space';
  assert.deepEqual(errorsOf(embedding('targets: [local/e]')), []);
  assert.deepEqual(errorsOf(embedding('targets: [local/e, openai/e]')), [several]);
  assert.deepEqual(errorsOf(embedding('space: s, targets: [local/e, openai/e]')), []);
  assert.deepEqual(errorsOf(embedding('space: s, targets: [local/e, { provider: openai, model: e, space: t }]')), [
    several,
  ]);
  const other = (space: string) => `  f: { type: embedding, ${space} targets: [openai/e] }\n`;
  assert.deepEqual(errorsOf(`${embedding('space: s, targets: [local/e], fallbacks: [f]')}${other('space: s,')}`), []);
  assert.deepEqual(errorsOf(`${embedding('space: s, targets: [local/e], fallbacks: [f]')}${other('space: t,')}`), [
    fallback,
  ]);
  assert.deepEqual(errorsOf(`${embedding('targets: [local/e], fallbacks: [f]')}${other('')}`), [fallback]);
});

test('plans that accounts, keys and default_plan name must exist; default always does', () => {
  assert.deepEqual(
    errorsOf(`plans: { free: {}, pro: {} }
default_plan: fre
accounts: { a: { plan: por }, b: { plan: default } }
keys: [ { key: sk-cv-12345678, plan: nothing } ]`),
    [
      "default_plan: there is no such plan (did you mean 'free'?)",
      "accounts.a.plan: there is no such plan (did you mean 'pro'?)",
      'keys[0].plan: there is no such plan',
    ],
  );
});

test('two keys never share identity or secret, and a plan belongs to the account', () => {
  assert.deepEqual(
    errorsOf(`plans: { free: {}, pro: {} }
accounts: { dev: { plan: free } }
admin: { key: sk-cv-the-admins-own }
keys:
  - { key: sk-cv-11111111, account: dev, name: laptop }
  - { key: sk-cv-22222222, account: dev, name: laptop }
  - { key: sk-cv-11111111, account: dev, name: phone }
  - { key: sk-cv-the-admins-own, name: x }
  - { key: sk-cv-44444444, account: dev, name: tablet, plan: pro }
  - { key: sk-cv-55555555, account: ops, name: laptop, plan: pro }`),
    [
      'keys[1]: has the same account and name as keys[0]; give it a name of its own',
      'keys[2].key: is the same secret as keys[0].key',
      'keys[3].key: is the same secret as admin.key',
      'keys[4].plan: its account has another plan; a plan belongs to the account',
    ],
  );
});

test('providers, stores and tools that lack what they need are refused', () => {
  for (const [text, message] of [
    [
      'providers: { a: { type: azure-openai, api_key: x } }',
      'providers.a: azure-openai needs base_url, such as https://NAME.openai.azure.com',
    ],
    [
      'providers: { a: { type: openai, api_key: x, credentials: [{ api_key: y }] } }',
      'providers.a.credentials: api_key and credentials exclude each other',
    ],
    [
      'storage: { state: "redis://h" }',
      'storage.state: Redis state needs a PostgreSQL database: replicas cannot share SQLite',
    ],
    ['vectors: { engine: qdrant }', 'vectors.engine: qdrant needs url'],
    ['tools: { search: { providers: [{ type: brave }] } }', 'tools.search.providers[0]: brave needs api_key'],
    ['tools: { search: { providers: [{ type: searxng }] } }', 'tools.search.providers[0]: searxng needs base_url'],
  ] as const) {
    assert.ok(errorsOf(text).includes(message), `${text}\n${errorsOf(text).join('\n')}`);
  }
});

test('S9: secrets that sign are refused when they are short', () => {
  const message = 'expected a secret of at least 32 bytes (openssl rand -base64 32 makes one)';
  assert.deepEqual(errorsOf('storage: { secret: short }'), [`storage.secret: ${message}`]);
  assert.deepEqual(errorsOf('plans: { a: { notify: { webhook: https://h.example/x, secret: "" } } }'), [
    `plans.a.notify.secret: ${message}`,
  ]);
  assert.deepEqual(errorsOf('admin: { key: short }'), ['admin.key: expected a secret of at least 16 characters']);
});
