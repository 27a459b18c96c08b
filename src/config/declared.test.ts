import assert from 'node:assert/strict';
import test from 'node:test';
import { checkConfigText } from './check.ts';
import {
  accountsInForce,
  credentialsOf,
  declaredAccounts,
  processesOf,
  whyNotReplaced,
  whyTooManyProcesses,
} from './declared.ts';
import { configSchema } from './schema.ts';

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
accounts: { dev: { plan: pro }, old: { status: suspended } }
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
    { id: 'dev', plan: 'pro', status: 'active', guards: [] },
    { id: 'old', plan: 'free', status: 'suspended', guards: [] },
    { id: 'ops', plan: 'pro', status: 'active', guards: [] },
    { id: 'default', plan: 'free', status: 'active', guards: [] },
  ]);
});

test('a file that loses its keys is no reload, whatever key a variable then stands in for', () => {
  const configOf = (text: string, env = {}) => {
    const result = checkConfigText(text, 'c', env);
    assert.ok(result.ok);
    return result.config;
  };
  const before = configOf('keys: [{ key: sk-cv-11111111 }]');
  const after = configOf('', { CULVERT_API_KEY: 'sk-cv-22222222' });
  assert.deepEqual(
    after.keys.map(({ key, from }) => [key, from]),
    [['sk-cv-22222222', 'environment']],
  );
  assert.match(whyNotReplaced(before, after) ?? '', /would drop the only declared key/);
  assert.equal(whyNotReplaced(after, before), null);
});

test('an account that a variable alone names is as it is stored, suspended too', () => {
  const result = checkConfigText('', 'c', { CULVERT_API_KEY: 'sk-cv-22222222' });
  assert.ok(result.ok);
  const declared = declaredAccounts(result.config);
  assert.deepEqual(declared, [{ id: 'default', plan: 'default', status: 'active', guards: [], from: 'environment' }]);
  assert.deepEqual(accountsInForce(declared, [{ id: 'default' }]), []);
  assert.deepEqual(accountsInForce(declared, [{ id: 'other' }]), declared);
});

test('auto leaves two cores, and starts no more workers than the books of the embedded storage serve', () => {
  const auto = (cores: number, storage = {}) =>
    processesOf(configSchema.parse({ server: { processes: 'auto' }, storage }), cores);
  const shared = { database: 'postgres://h/d', state: 'redis://h' };
  assert.deepEqual(
    [1, 2, 3, 6, 16].map((cores) => auto(cores)),
    [1, 1, 1, 4, 4],
  );
  assert.deepEqual(
    [2, 16].map((cores) => auto(cores, shared)),
    [1, 14],
  );
  assert.equal(auto(16, { database: 'postgres://h/d' }), 1);
});

test('more processes than cores, or than the books of the embedded storage serve, are told', () => {
  const why = (processes: number, cores: number, storage = {}) =>
    whyTooManyProcesses(configSchema.parse({ server: { processes }, storage }), cores);
  const shared = { database: 'postgres://h/d', state: 'redis://h' };
  assert.equal(why(1, 1), null);
  assert.equal(why(4, 4), null);
  assert.equal(why(3, 2), 'server.processes is 3, but this machine has 2 cores');
  assert.match(why(5, 8) ?? '', /the books of the embedded storage keep up with about 4 busy workers/);
  assert.equal(why(8, 8, shared), null);
});
