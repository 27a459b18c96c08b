import assert from 'node:assert/strict';
import test from 'node:test';
import { checkConfigText } from './check.ts';
import { credentialsOf, declaredAccounts } from './declared.ts';
import type { JsonSchema } from './json-schema.ts';
import { inputSchema } from './json-schema.ts';
import { redact, secretKeys } from './redact.ts';
import { configSchema } from './schema.ts';

test('every key that the schema calls a secret is one that redaction knows', () => {
  const walk = (schema: JsonSchema, key: string) => {
    if (schema.kind === 'secret' && key !== '') assert.ok(secretKeys.has(key), `${key} would be shown`);
    for (const [name, child] of Object.entries(schema.properties ?? {})) walk(child, name);
    if (schema.items !== undefined) walk(schema.items, key);
    for (const branch of schema.anyOf ?? []) walk(branch, key);
    // Values of a record of secrets (headers) have no key of their own.
    if (typeof schema.additionalProperties === 'object') walk(schema.additionalProperties, '');
  };
  walk(inputSchema(), '');
});

test('the effective configuration shows names and numbers, never a secret', () => {
  const config = configSchema.parse({
    admin: { key: 'SECRET-admin-key-1' },
    storage: { secret: 'SECRET'.repeat(8), database: 'postgres://u:SECRET@h/db', state: 'redis://:SECRET@h' },
    providers: {
      a: { type: 'openai', api_key: 'SECRET', base_url: 'https://a.example/v1', headers: { authorization: 'SECRET' } },
      b: { type: 'openai', credentials: [{ api_key: 'SECRET', weight: 3 }] },
    },
    models: { m: { targets: [{ provider: 'a', model: 'x', body: { token: 'SECRET', more: { deep: 'SECRET' } } }] } },
    plans: { p: { notify: { webhook: 'https://hooks.example/SECRET', secret: 'SECRET'.repeat(8) } } },
    keys: [{ key: 'sk-cv-SECRET99', account: 'dev', name: 'laptop' }],
    vectors: { engine: 'qdrant', url: 'http://q:6333', api_key: 'SECRET' },
    tools: { search: { providers: [{ type: 'brave', api_key: 'SECRET' }] } },
  });
  const shown = JSON.stringify(redact(config));
  assert.ok(!shown.includes('SECRET'), shown);
  for (const text of [
    'laptop',
    'https://a.example/v1',
    '"weight":3',
    'postgres://user:secret@h/db',
    'authorization',
    '"port":4141',
  ]) {
    assert.ok(shown.includes(text), text);
  }
});

test('credentials come from api_key or the list', () => {
  const { providers } = configSchema.parse({
    providers: {
      one: { type: 'openai', api_key: 'a' },
      two: { type: 'openai', credentials: [{ api_key: 'b', rpm: 5 }] },
      none: { type: 'ollama' },
    },
  });
  assert.deepEqual(credentialsOf(providers.one!), [{ api_key: 'a', weight: 1 }]);
  assert.deepEqual(credentialsOf(providers.two!), [{ api_key: 'b', weight: 1, rpm: 5 }]);
  assert.deepEqual(credentialsOf(providers.none!), []);
});

test('accounts are those of the file and those that keys name, each with its plan', () => {
  const result = checkConfigText(
    `plans: { free: {}, pro: {} }
default_plan: free
accounts: { dev: { plan: pro, name: Developers }, old: { status: suspended } }
keys:
  - { key: sk-cv-11111111, account: dev, name: a }
  - { key: sk-cv-22222222, account: ops, name: a }
  - { key: sk-cv-33333333, account: ops, name: b, plan: pro }
  - { key: sk-cv-44444444 }`,
    'c',
    {},
  );
  assert.ok(result.ok);
  assert.deepEqual(declaredAccounts(result.config), [
    { id: 'dev', name: 'Developers', plan: 'pro', status: 'active' },
    { id: 'old', name: 'old', plan: 'free', status: 'suspended' },
    { id: 'ops', name: 'ops', plan: 'pro', status: 'active' },
    { id: 'default', name: 'default', plan: 'free', status: 'active' },
  ]);
});
