import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { checkConfigText } from './check.ts';
import { crossCheck } from './cross-check.ts';
import { mergeStored, type StoredFragment } from './merge-stored.ts';
import { formatProblem } from './problem.ts';
import type { Config } from './schema.ts';

function fileOf(written: Record<string, unknown>, implicitProviders: readonly string[] = []): Config {
  const checked = checkConfigText(stringify(written), 'culvert.yaml', {}, { implicitProviders });
  if (!checked.ok) throw new Error(checked.errors.map(formatProblem).join('\n'));
  return checked.config;
}

const provider = (name: string, more: Record<string, unknown> = {}): StoredFragment => ({
  kind: 'provider',
  name,
  definition: { type: 'openai', base_url: `http://10.0.0.1/${name}`, ...more },
});
const model = (name: string, targets: readonly string[], more: Record<string, unknown> = {}): StoredFragment => ({
  kind: 'model',
  name,
  definition: { targets, ...more },
});

test('nothing kept: the very configuration of the file', () => {
  const file = fileOf({ models: {} });
  assert.equal(mergeStored(file, [], { OPENAI_API_KEY: 'sk-a' }).config, file);
});

test('kept fragments are read as the file would be', () => {
  const { config, left } = mergeStored(
    fileOf({}),
    [
      model('smart', ['acme/m1'], { timeouts: { idle: '5s' }, cost: 2 }),
      provider('acme', { credentials: [{ id: 'k1', api_key: 'secret' }] }),
    ],
    {},
  );
  assert.equal(left.size, 0);
  assert.deepEqual(config.models.smart?.targets[0]?.provider, 'acme');
  assert.equal(config.models.smart?.timeouts.idle, 5_000);
  assert.deepEqual(config.providers.acme?.credentials, [{ id: 'k1', api_key: 'secret', weight: 1 }]);
});

test('the file wins a clash of names, and so does a key in the environment', () => {
  const file = fileOf({
    providers: { acme: { type: 'ollama' } },
    models: { smart: { targets: ['acme/theirs'] } },
  });
  const over = mergeStored(file, [provider('acme'), model('smart', ['acme/mine'])], {});
  assert.deepEqual(
    [...over.left],
    [
      ['provider acme', { kind: 'shadowed' }],
      ['model smart', { kind: 'shadowed' }],
    ],
  );
  assert.equal(over.config.models.smart?.targets[0]?.model, 'theirs');
  const beside = mergeStored(fileOf({}), [provider('openai'), provider('acme')], { OPENAI_API_KEY: 'sk-env' });
  assert.deepEqual([...beside.left.keys()], ['provider openai']);
  assert.deepEqual(Object.keys(beside.config.providers), ['openai', 'acme'], 'that of the environment stays');
  assert.equal(beside.config.providers.openai?.api_key, 'sk-env');
});

test('what the file took away is left out with what refers to it, and told; the rest works', () => {
  const { config, left } = mergeStored(
    fileOf({ providers: { other: { type: 'ollama' } } }),
    [model('lost', ['gone/m']), model('behind', ['other/m'], { fallbacks: ['lost'] }), model('fine', ['other/m'])],
    {},
  );
  assert.deepEqual(Object.keys(config.models), ['fine']);
  assert.deepEqual(left.get('model lost'), {
    kind: 'unusable',
    path: ['targets', 0],
    message: 'there is no such provider',
  });
  assert.deepEqual((left.get('model behind') as { path: unknown }).path, ['fallbacks', 0]);
});

test('a definition that no schema takes names its field', () => {
  const { left } = mergeStored(fileOf({}), [provider('acme', { timeouts: { idle: 'soon' } })], {});
  const why = left.get('provider acme');
  assert.ok(why?.kind === 'unusable');
  assert.deepEqual(why.path, ['timeouts', 'idle']);
});

test('a kept model that takes a name from a pattern of the file gives way where the file would contradict itself', () => {
  const file = fileOf({
    providers: { up: { type: 'ollama' } },
    models: {
      first: { targets: ['up/a'], fallbacks: ['other-1'] },
      'other-*': { targets: ['up/*'] },
    },
  });
  const { config, left } = mergeStored(file, [model('other-1', ['up/b'], { fallbacks: ['first'] })], {});
  assert.deepEqual(Object.keys(config.models), ['first', 'other-*']);
  assert.equal(left.get('model other-1')?.kind, 'unusable');
});

test('models that providers list stay beside the first alias that somebody makes', () => {
  const env = { OPENAI_API_KEY: 'sk-env' };
  const { config } = mergeStored(fileOf({}), [model('smart', ['openai/gpt-x'])], env);
  assert.equal(config.providers.openai?.all_models, true);
  const named = fileOf({ providers: { up: { type: 'ollama' } }, models: { a: { targets: ['up/a'] } } });
  const beside = mergeStored(named, [model('b', ['up/b']), provider('acme')], {}).config;
  assert.equal(beside.providers.up?.all_models, undefined, 'where the file names models, it says which there are');
  assert.equal(beside.providers.acme?.all_models, true);
});

test('whatever is kept, the whole passes the checks of a file, and each fragment is in it or told', () => {
  const names = fc.constantFrom('a', 'b', 'c-*', 'c-1', 'file', 'up');
  const fragment = fc.oneof(
    fc.record({
      kind: fc.constant('provider' as const),
      name: names,
      definition: fc.constantFrom<Record<string, unknown>>({ type: 'ollama' }, { type: 'azure-openai' }, {}),
    }),
    fc.record({
      kind: fc.constant('model' as const),
      name: names,
      definition: fc.record({
        targets: fc.array(fc.constantFrom('a/x', 'b/x', 'up/x', 'up/*'), { minLength: 1, maxLength: 2 }),
        fallbacks: fc.array(names, { maxLength: 2 }),
      }),
    }),
  );
  const file = fileOf({
    providers: { up: { type: 'ollama' } },
    models: { file: { targets: ['up/x'], fallbacks: ['c-1'] }, 'c-*': { targets: ['up/*'] } },
  });
  const kept = fc.uniqueArray(fragment, { maxLength: 6, selector: ({ kind, name }) => `${kind} ${name}` });
  fc.assert(
    fc.property(kept, (fragments) => {
      const { config, left } = mergeStored(file, fragments, {});
      assert.deepEqual(crossCheck(config, { implicitProviders: [] }), []);
      for (const { kind, name } of fragments) {
        const table = kind === 'provider' ? config.providers : config.models;
        assert.ok(left.has(`${kind} ${name}`) || Object.hasOwn(table, name), `${kind} ${name}`);
      }
      assert.deepEqual(config.models.file, file.models.file);
    }),
    { numRuns: 300 },
  );
});
