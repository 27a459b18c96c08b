// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as people write them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { checkConfigText } from './check.ts';
import type { Env } from './environment.ts';
import { exportConfig, type StoredSettings } from './export-config.ts';
import { fragmentKey, mergeStored, type StoredFragment } from './merge-stored.ts';
import { formatProblem } from './problem.ts';
import { plansSchema } from './schema/schema-plans.ts';
import type { Config } from './schema.ts';

function read(text: string, env: Env, implicitProviders: readonly string[] = []): Config {
  const checked = checkConfigText(text, 'culvert.yaml', env, { implicitProviders });
  assert.ok(checked.ok, checked.ok ? '' : `${checked.errors.map(formatProblem).join('\n')}\n${text}`);
  return checked.config;
}

/** The order counts of providers and aliases: the first that fits is taken. */
function assertSame(actual: Config, expected: Config): void {
  assert.deepEqual(actual, expected);
  for (const table of ['providers', 'models'] as const) {
    assert.deepEqual(Object.keys(actual[table]), Object.keys(expected[table]));
  }
}

const nothingBeside: StoredSettings = { plans: [], accounts: [], keys: 0, operators: 0 };

/** The export, and what a server that starts with it has. */
function roundTrip(text: string, kept: readonly StoredFragment[], env: Env, beside: StoredSettings = nothingBeside) {
  const implicit = env.OPENAI_API_KEY === undefined ? [] : ['openai'];
  const file = read(text, env, implicit);
  const { config: inForce, left } = mergeStored(file, kept, env);
  const fragments = kept.filter((fragment) => !left.has(fragmentKey(fragment)));
  const exported = exportConfig({ text, file, inForce, fragments, beside, env });
  const again = read(exported.text, { ...env, ...Object.fromEntries(exported.variables) }, implicit);
  return { exported, file, inForce, again };
}

test('S36 what a target sends in its body, at any depth, is a variable too, in the file and in what is kept', () => {
  const text = `providers: { up: { type: openai, api_key: k } }
models:
  fast: { targets: [ { provider: up, model: m, body: { token: body-canary-1, tools: [ { headers: { auth: body-canary-2 } } ] } } ] }
`;
  const body = { user: 'true', n: 1, extra_body: { list: ['body-canary-3'] } };
  const kept: StoredFragment[] = [
    { kind: 'model', name: 'smart', definition: { targets: [{ provider: 'up', model: 'm', body }] } },
  ];
  const { exported, inForce, again } = roundTrip(text, kept, {});
  assertSame(again, inForce);
  assert.ok(!exported.text.includes('body-canary'), exported.text);
  assert.ok(exported.variables.has('CULVERT_MODELS_FAST_TARGETS_0_BODY_TOKEN'), [...exported.variables.keys()].join());
});

test('arguments of programs are variables too: many take a key so', () => {
  const text = "mcp: { servers: { files: { command: npx, args: ['-y', '--api-key=args-canary'], env: {} } } }\n";
  const { exported, inForce, again } = roundTrip(text, [], {});
  assertSame(again, inForce);
  assert.ok(!exported.text.includes('args-canary'), exported.text);
  assert.equal(exported.variables.get('CULVERT_MCP_SERVERS_FILES_ARGS_1'), '--api-key=args-canary');
});

test('the operator’s own file stays as it was written, with what is kept below it and every secret as a variable', () => {
  const text = `# Ours.
admin: { key: literal-admin-key }
providers:
  up:
    type: openai # the first
    api_key: \${UP_KEY}
    headers: { x-team: literal-header }
models:
  fast: { targets: [ up/m ], timeouts: { idle: 5s } }
`;
  const kept: StoredFragment[] = [
    {
      kind: 'provider',
      name: 'acme',
      definition: {
        type: 'openai',
        base_url: 'http://10.0.0.1/v1',
        proxy: 'http://user:hidden@10.0.0.2',
        credentials: [
          { id: 'k1', api_key: 'secret-one', weight: 1 },
          { id: 'k2', api_key: 'secret-two', weight: 2 },
        ],
      },
    },
    { kind: 'model', name: 'smart', definition: { targets: ['acme/big'], fallbacks: ['fast'], cost: 2 } },
  ];
  const { exported, inForce, again } = roundTrip(text, kept, { UP_KEY: 'of-the-environment' });
  assertSame(again, inForce);
  for (const hidden of ['literal-admin-key', 'literal-header', 'hidden', 'secret-one', 'secret-two', 'of-the-env']) {
    assert.ok(!exported.text.includes(hidden), hidden);
  }
  assert.match(exported.text, /# Ours\.[\s\S]*# the first\n\s+api_key: \$\{UP_KEY\}/);
  assert.deepEqual(
    [...exported.variables.keys()],
    ['CULVERT_ADMIN_KEY', 'UP_HEADERS_X_TEAM', 'ACME_PROXY', 'ACME_K1_API_KEY', 'ACME_K2_API_KEY'],
  );
});

test('without a file, keys of the environment stand by their own variables', () => {
  const kept: StoredFragment[] = [{ kind: 'model', name: 'smart', definition: { targets: ['openai/gpt-x'] } }];
  const { exported, inForce, again } = roundTrip('', kept, { OPENAI_API_KEY: 'sk-env' });
  assertSame(again, inForce);
  assert.match(exported.text, /api_key: \$\{OPENAI_API_KEY\}/);
});

const secretText = fc
  .string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
  // A variable with nothing but spaces counts as unset. Masks are made of these characters.
  .filter((text) => text.trim() !== '' && !/[\u{e000}-\u{e8ff}]/u.test(text));
const oddText = fc.oneof(
  secretText,
  fc.constantFrom(
    '${X}',
    '$${X}',
    '${',
    'a: b',
    '# no comment',
    '- a',
    '*a',
    '&a',
    '!t',
    'null',
    '1',
    'yes',
    "it's",
    '"',
    '}',
  ),
);
const target = fc.constantFrom('up/m', 'acme/m', { provider: 'acme', model: 'm${x}', priority: 2, stream: false });
const keptModels = fc.array(
  fc.record({
    targets: fc.array(target, { minLength: 1, maxLength: 3 }),
    cost: fc.integer({ min: 0, max: 9 }),
    voices: fc.dictionary(fc.constantFrom('a', 'b b', 'c:'), oddText, { maxKeys: 2 }),
  }),
  { maxLength: 3 },
);
/** A reference is refused as a key. */
const oddKey = oddText.filter((text) => !/^\$\{[^}]*\}$/.test(text));
const credentials = fc.array(fc.record({ api_key: oddKey, weight: fc.constantFrom(1, 2.5) }), {
  minLength: 1,
  maxLength: 3,
});
const headers = fc.dictionary(fc.constantFrom('x-a', 'x-b'), fc.constantFrom('plain', 'with ${X}', 'a: b #c'), {
  maxKeys: 2,
});

test('whatever is kept under whatever file: importing what was exported gives the same configuration', () => {
  const files = fc.constantFrom(
    '',
    '# nothing\n',
    'providers:\nmodels:\n',
    'providers: { up: { type: openai, api_key: "${UP_KEY:-none}" } }\nmodels: { first: { targets: [ up/m ] } }\n',
    'providers:\n  up: &up { type: ollama, timeouts: { total: 1h } }\n  down: *up\n',
    'providers:\n  up:\n    type: openai\n    credentials:\n      - { api_key: &k literal, rpm: 5 }\n      - api_key: *k\nkeys: [ { key: sk-cv-literal-0001, account: a, name: b } ]\n',
    stringify({
      tools: { search: { providers: [{ type: 'brave', api_key: 'literal' }] } },
      fetch: { allow_private: ['10.0.0.0/8'] },
    }),
  );
  fc.assert(
    fc.property(files, credentials, headers, keptModels, fc.boolean(), (text, keys, extra, models, withKey) => {
      const kept: StoredFragment[] = [
        {
          kind: 'provider',
          name: 'acme',
          definition: {
            type: 'openai',
            base_url: 'http://10.0.0.1/v1',
            headers: extra,
            credentials: keys.map((each, index) => ({ id: `k${index}`, ...each })),
          },
        },
        ...models.map((definition, index) => ({ kind: 'model', name: `m${index}`, definition }) as const),
      ];
      const { inForce, again } = roundTrip(text, kept, withKey ? { OPENAI_API_KEY: 'sk-env' } : {});
      assertSame(again, inForce);
    }),
    { numRuns: 300 },
  );
});

test('plans and accounts stand in the file, with secrets as variables; a comment says what does not', () => {
  const secret = 'whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA==';
  const beside: StoredSettings = {
    plans: [
      { name: 'pro', definition: { windows: { '5h': 50 }, notify: { webhook: 'https://example.org/in', secret } } },
      { name: 'broken', definition: { windows: 'often' } },
    ],
    accounts: [
      { id: 'acme', name: 'Acme: the # first', plan: 'pro', status: 'suspended', guards: [] },
      { id: 'gone', name: 'gone', plan: 'broken', status: 'active', guards: [] },
      { id: 'anna@example.org', name: 'Anna', plan: 'pro', status: 'active', guards: [] },
    ],
    keys: 2,
    operators: 1,
  };
  const { exported, again } = roundTrip('# Ours.\naccounts: { dev: { plan: default } }\n', [], {}, beside);
  assert.ok(!exported.text.includes(secret));
  assert.deepEqual(again.plans.pro?.windows, { '5h': 50 });
  assert.deepEqual(again.accounts.acme, { plan: 'pro', name: 'Acme: the # first', status: 'suspended' });
  assert.deepEqual(Object.keys(again.accounts), ['dev', 'acme', 'gone']);
  assert.equal(again.accounts.gone?.plan, undefined, 'it had the default plan');
  assert.match(exported.text, /^# This file leaves out 2 keys and an operator made at run time, .*\. A backup/m);
  assert.match(exported.text, /^# This file leaves out, .*: the plan broken, the account anna@example\.org\.$/m);
  assert.match(exported.text, /^# Ours\.$/m);
});

test('whatever plans and accounts are kept under whatever file: the imported ones are the same', () => {
  const files = fc.constantFrom(
    '',
    'plans: { team: { rpm: 9 } }\naccounts: { dev: { plan: team } }\n',
    'plans: &p { team: { rpm: 9 } }\naccounts:\n',
  );
  const plan = fc.record(
    {
      windows: fc.constantFrom('off' as const, { '5h': 3 }, { '5h': 3, month: 9.5 }),
      rpm: fc.constantFrom('off' as const, 7),
      models: fc.array(oddText, { minLength: 1, maxLength: 2 }),
      budget: fc.constantFrom('off' as const, { month: 20 }),
      scope: fc.constantFrom('account' as const, 'key' as const),
    },
    { requiredKeys: [] },
  );
  const plans = fc.dictionary(fc.constantFrom('pro', '1', 'a.b', 'null'), plan, { maxKeys: 3, noNullPrototype: true });
  const accounts = fc.uniqueArray(
    fc.record({
      id: fc.constantFrom('acme', '7', 'x_y', 'true'),
      name: oddText,
      plan: fc.constantFrom('pro', '1', 'a.b', 'null', 'default', 'lost'),
      status: fc.constantFrom('active' as const, 'suspended' as const),
      guards: fc.constant([]),
    }),
    { selector: ({ id }) => id, maxLength: 3 },
  );
  fc.assert(
    fc.property(files, plans, accounts, (text, made, kept) => {
      const beside: StoredSettings = {
        plans: Object.entries(made).map(([name, definition]) => ({ name, definition })),
        accounts: kept,
        keys: 0,
        operators: 0,
      };
      const { file, again } = roundTrip(text, [], {}, beside);
      const written = plansSchema.parse(made);
      for (const name of Object.keys(made)) assert.deepEqual(again.plans[name], written[name]);
      for (const name of Object.keys(file.plans)) {
        if (name !== 'default') assert.deepEqual(again.plans[name], file.plans[name]);
      }
      for (const { id, name, plan, status } of kept) {
        const account = again.accounts[id]!;
        const known = Object.hasOwn(again.plans, plan);
        assert.deepEqual(
          [account.name ?? id, account.plan ?? again.default_plan, account.status],
          [name, known ? plan : 'default', status],
        );
      }
      assert.deepEqual(again.accounts.dev, file.accounts.dev);
    }),
    { numRuns: 200 },
  );
});

test('references of the file stay, in quotes where only we would read them bare', () => {
  const text = 'providers: { up: { type: openai, api_key: ${UP_KEY} } }\nadmin:\n  key: ${ADMIN:-}\n';
  const env = { UP_KEY: 'sk-1' };
  const file = checkConfigText(text, 'culvert.yaml', env);
  assert.ok(file.ok);
  const parts = { text, file: file.config, inForce: file.config, fragments: [], beside: nothingBeside, env };
  const made = exportConfig(parts).text;
  assert.deepEqual(parse(made), {
    providers: { up: { type: 'openai', api_key: '${UP_KEY}' } },
    admin: { key: '${ADMIN:-}' },
  });
});
