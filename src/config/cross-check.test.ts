import assert from 'node:assert/strict';
import test from 'node:test';
import { one } from '../../test/saml-certificates.ts';
import { cert as ecCertificate, key as ecKey } from '../../test/upstream-certificate.ts';
import { builtInModels } from './built-in-models.ts';
import { checkConfigText } from './check.ts';
import { formatProblem, formatWarning } from './problem.ts';

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

test('a target may name a model of the gateway itself, whose name no provider can take', () => {
  const models = (model: string) => `models: { a: { type: embedding, targets: [culvert/${model}] } }`;
  for (const model of builtInModels) assert.deepEqual(errorsOf(models(model)), []);
  assert.deepEqual(errorsOf(models('culvert-lexical-512')), [
    `models.a.targets[0]: culvert itself has no such model, only ${builtInModels.join(', ')}`,
  ]);
  assert.deepEqual(errorsOf('providers: { culvert: { type: openai, api_key: x } }'), [
    'providers.culvert: Culvert itself uses this name; take another one',
  ]);
});

test('a provider is said to speak what its type can be asked in alone, told at the word that is wrong', () => {
  const speaks = (provider: string) => errorsOf(`providers: { p: { ${provider}] } }`);
  assert.deepEqual(speaks('type: vllm, dialects: [openai-chat, openai-responses, anthropic-messages'), []);
  assert.deepEqual(speaks('type: gemini, api_key: x, dialects: [gemini'), []);
  assert.deepEqual(speaks('type: gemini, api_key: x, dialects: [gemini, openai-chat'), [
    'providers.p.dialects[1]: type gemini does not speak openai-chat, only gemini; for a server that speaks it take type openai with its base_url',
  ]);
  assert.deepEqual(speaks('type: ollama, dialects: [gemini'), [
    'providers.p.dialects[0]: type ollama does not speak gemini, only openai-chat, openai-responses, anthropic-messages; for a server that speaks it take type gemini with its base_url',
  ]);
  assert.deepEqual(speaks('type: tei, base_url: "http://h/v1", dialects: [openai-chat'), [
    'providers.p.dialects[0]: type tei has no chat models; leave dialects out',
  ]);
  assert.deepEqual(speaks('type: openai, api_key: x, dialects: [anthropic-messages'), [
    "providers.p.dialects[0]: OpenAI's own service does not speak anthropic-messages; give the base_url of a server that does",
  ]);
  assert.deepEqual(speaks('type: openai, base_url: "http://h/v1", dialects: [anthropic-messages'), []);
});

test('a semantic cache names a model that embeds, and a judge that chats', () => {
  const models = (semantic: string) =>
    errorsOf(
      `${providers}models:\n  a: { targets: [local/q], cache: { ttl: 1h, semantic: { ${semantic} } } }\n  embed: { type: embedding, targets: [local/e] }`,
    );
  assert.deepEqual(models('model: embed, judge: a'), []);
  assert.deepEqual(models('model: embe'), [
    "models.a.cache.semantic.model: there is no such model (did you mean 'embed'?)",
  ]);
  assert.deepEqual(models('model: a, judge: embed'), [
    'models.a.cache.semantic.model: needs a model of type embedding',
    'models.a.cache.semantic.judge: needs a model of type chat',
  ]);
  assert.deepEqual(models('model: embed, error: 0%'), [
    'models.a.cache.semantic.error: expected above 0% and at most 20%',
  ]);
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
    ['models.a.fallbacks[0]: a * in a fallback needs a * in the alias, because it repeats the match'],
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
    ['models.a.targets[0]: a * in a target needs a * in the alias, because it repeats the match'],
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

test('plans that contradict themselves are refused', () => {
  const order = (longer: string) =>
    `is more than ${longer} allows: a shorter window cannot allow more than a longer one`;
  for (const [plan, errors] of [
    ['windows: { 5h: 51, week: 50 }', [`plans.a.windows.5h: ${order('week')}`]],
    ['windows: { week: 51, month: 50 }', [`plans.a.windows.week: ${order('month')}`]],
    ['windows: { 5h: 51, week: off, month: 50 }', [`plans.a.windows.5h: ${order('month')}`]],
    ['windows: { 5h: 50, week: 50, month: 50 }', []],
    ['windows: { 5h: off, month: 50 }', []],
    ['tokens: { 5h: 2, month: 1 }', [`plans.a.tokens.5h: ${order('month')}`]],
    ['budget: { week: 0.2, month: 0.1 }', [`plans.a.budget.week: ${order('month')}`]],
    ['tier_limits: { t: { 5h: 2, week: 1 } }', [`plans.a.tier_limits.t.5h: ${order('week')}`]],
    ['models: []', ['plans.a.models: expected at least one model; off allows all']],
    [
      'windows: { 5h: 5 }, notify: { at: [0.5, 1, 0.5], webhook: https://h.example/x, secret: a-secret-of-more-than-thirty-two-bytes }',
      ['plans.a.notify.at: holds a share twice'],
    ],
    [
      'notify: { webhook: https://h.example/x, secret: a-secret-of-more-than-thirty-two-bytes }',
      ['plans.a.notify: does nothing here: the plan limits no window'],
    ],
  ] as const) {
    assert.deepEqual(errorsOf(`tiers: { t: {} }\nplans: { a: { ${plan} } }`), errors, plan);
  }
});

test('amounts are bounded, and no finer than what is counted', () => {
  for (const [text, error] of [
    ['plans: { a: { windows: { 5h: 0.0005 } } }', 'plans.a.windows.5h: expected a multiple of 0.001'],
    ['plans: { a: { windows: { 5h: -1 } } }', 'plans.a.windows.5h: expected a number of at least 0'],
    ['plans: { a: { windows: { 5h: 2e12 } } }', 'plans.a.windows.5h: expected a number of at most 1000000000000'],
    ['plans: { a: { tokens: { 5h: 1.5 } } }', 'plans.a.tokens.5h: expected off or a whole number'],
    ['plans: { a: { budget: { month: 5000001 } } }', 'plans.a.budget.month: expected a number of at most 5000000'],
    ['plans: { a: { rpm: 1.5 } }', 'plans.a.rpm: expected off or a whole number of at least 1'],
    ['costs: { chat: 0.0001 }', 'costs.chat: expected a multiple of 0.001'],
    ['costs: { chat: 10001 }', 'costs.chat: expected a number of at most 10000'],
    [`${providers}models: { a: { targets: [local/q], cost: 0.0015 } }`, 'models.a.cost: expected a multiple of 0.001'],
    [
      'keys: [{ key: sk-cv-12345678, ips: [10.0.0.0/33] }]',
      'keys[0].ips[0]: expected an address or network such as 10.0.0.0/8',
    ],
    [
      'server: { trusted_proxies: [300.0.0.1] }',
      'server.trusted_proxies[0]: expected an address or network such as 10.0.0.0/8',
    ],
  ] as const) {
    assert.deepEqual(errorsOf(text), [error], text);
  }
  for (const units of [0, 0.001, 0.05, 0.29, 1.005, 999_999_999_999.999]) {
    assert.deepEqual(errorsOf(`plans: { a: { windows: { 5h: ${units} } } }`), [], String(units));
  }
});

test("a plan's tier limits speak of tiers that exist, and fit those of the tier itself", () => {
  const text = (plan: string) => `${providers}models: { m: { tier: premium, targets: [local/q] } }
tiers: { basic: { 5h: 10, week: 100 } }
plans: { a: { tier_limits: { ${plan} } } }`;
  assert.deepEqual(errorsOf(text('premium: { rpm: 1 }, basic: off')), []);
  assert.deepEqual(errorsOf(text('premum: { rpm: 1 }')), [
    "plans.a.tier_limits.premum: no model has this tier, and tiers does not define it (did you mean 'premium'?)",
  ]);
  assert.deepEqual(errorsOf(text('basic: { 5h: 101 }')), [
    'plans.a.tier_limits.basic.5h: is more than the week of tiers.basic allows: a shorter window cannot allow more than a longer one',
  ]);
  assert.deepEqual(errorsOf(text('basic: { week: 9 }')), [
    'plans.a.tier_limits.basic.week: is less than the 5h of tiers.basic allows',
  ]);
  assert.deepEqual(errorsOf(text('basic: { 5h: 101, week: off }')), []);
});

test('a contradiction is said with its line and column', () => {
  const result = checkConfigText('plans:\n  free:\n    windows:\n      week: 5\n      5h: 50\n', 'c.yaml', {});
  assert.ok(!result.ok);
  assert.deepEqual([result.errors[0]?.line, result.errors[0]?.column], [5, 7]);
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
      'keys[1]: keys[0] has the same account and name; give this key another name',
      'keys[2].key: keys[0].key is the same secret',
      'keys[3].key: admin.key is the same secret',
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
    ['providers: { a: { type: openai, tls: { cert: client.pem } } }', 'providers.a.tls: cert and key need each other'],
    [
      'providers: { a: { type: openai, api_key: x, credentials: [{ api_key: y }] } }',
      'providers.a.credentials: give either api_key or credentials, not both',
    ],
    [
      'storage: { state: "redis://h" }',
      'storage.state: Redis state needs a PostgreSQL database: replicas cannot share SQLite',
    ],
    [
      'server: { processes: 4 }\nstorage: { database: "postgres://h/d" }',
      'server.processes: 4 processes share their limits over Redis where the ledger is in PostgreSQL: set storage.state to redis://…, or set this to 1',
    ],
    ['server: { processes: 0 }', 'server.processes: expected a number of at least 1'],
    ['server: { processes: many }', 'server.processes: expected auto or a number from 1 to 128'],
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
  assert.deepEqual(
    errorsOf('plans: { a: { windows: { 5h: 1 }, notify: { webhook: https://h.example/x, secret: "" } } }'),
    [`plans.a.notify.secret: ${message}`],
  );
  assert.deepEqual(errorsOf('admin: { key: short }'), ['admin.key: expected a secret of at least 16 characters']);
  const digits = '12345678'.repeat(5);
  const unquoted = 'expected a secret in quotes: without them, its digits are a number';
  assert.deepEqual(errorsOf(`storage: { secret: ${digits} }`), [`storage.secret: ${unquoted}`]);
  assert.deepEqual(errorsOf(`admin: { key: ${digits} }`), [`admin.key: ${unquoted}`]);
  assert.deepEqual(errorsOf(`storage: { secret: "${digits}" }`), []);
});

function warningsOf(text: string): string[] {
  const result = checkConfigText(text, 'c', {});
  assert.ok(result.ok);
  return result.warnings.map(formatWarning);
}

test('a sink that wants bodies of no key is warned of', () => {
  const sinks = (bodies: string) =>
    `telemetry: { log: { bodies: ${bodies} }, sinks: [{ name: a, folder: x, bodies: true }] }`;
  assert.match(
    warningsOf(sinks('false')).join(),
    /sinks\[0\]\.bodies: no record has bodies, because .* names no key\. Name keys /,
  );
  assert.deepEqual(warningsOf(sinks('[dev/laptop]')), []);
});

test('a place of files and a sender of mail that cannot be used are named with what is expected', () => {
  assert.deepEqual(errorsOf('storage: { files: /var/pictures }'), [
    'storage.files: expected local or a bucket such as s3://pictures/culvert',
  ]);
  assert.deepEqual(errorsOf('server: { smtp: { url: "smtp://h", from: Culvert } }'), [
    'server.smtp.from: expected a sender such as Culvert <culvert@example.org>',
  ]);
});

test('SAML needs the address of this server, and its provider in one way', () => {
  const saml = (idp: object, more: object = {}, server: object = { public_url: 'https://culvert.example.org' }) =>
    errorsOf(
      JSON.stringify({ server, dashboard: { saml: { idp, roles: [{ group: '*', role: 'viewer' }], ...more } } }),
    );
  const byUrl = { metadata_url: 'https://id.example.org/metadata' };
  const byFields = { entity_id: 'urn:idp', sso_url: 'https://id.example.org/sso', certificates: [one.cert] };
  assert.deepEqual(saml(byUrl), []);
  assert.deepEqual(saml({ ...byUrl, entity_id: 'urn:idp' }), []);
  assert.deepEqual(saml({ metadata: '<EntityDescriptor/>' }), []);
  assert.deepEqual(saml(byFields), []);
  assert.deepEqual(saml(byUrl, {}, {}), [
    'dashboard.saml: SAML needs server.public_url: assertions name the address that they are for',
  ]);
  const { sso_url: _, ...withoutSso } = byFields;
  for (const idp of [
    {},
    { ...byUrl, metadata: '<a/>' },
    { ...byUrl, ...byFields },
    withoutSso,
    { ...byUrl, sso_url: 'https://b' },
  ]) {
    assert.deepEqual(saml(idp), [
      'dashboard.saml.idp: expected one of metadata_url, metadata, and the three entity_id, sso_url and certificates',
    ]);
  }
  assert.deepEqual(saml({ metadata_url: 'http://id.example.org/' }), [
    'dashboard.saml.idp.metadata_url: expected an https:// URL',
  ]);
  for (const certificate of ['none', ecCertificate]) {
    assert.deepEqual(saml({ ...byFields, certificates: [certificate] }), [
      'dashboard.saml.idp.certificates[0]: expected an X.509 certificate with an RSA key, as PEM or base64',
    ]);
  }
  assert.deepEqual(saml(byUrl, { signing: { private_key: one.key, certificate: one.cert } }), []);
  assert.deepEqual(saml(byUrl, { signing: { private_key: ecKey, certificate: one.cert } }), [
    'dashboard.saml.signing.private_key: expected an RSA private key as PEM, without a passphrase',
  ]);
});

test('replicas that would each have vectors of their own are warned of, at the file’s place', () => {
  const storage =
    'storage: { database: "postgres://h/db", state: "redis://h", secret: a-secret-of-more-than-thirty-two-bytes }\n';
  const [warning = ''] = warningsOf(storage);
  assert.match(warning, /vectors\.engine: replicas do not share embedded vectors: .* need vectors\.engine: qdrant\. /);
  assert.deepEqual(warningsOf(`${storage}vectors: { engine: qdrant, url: "http://q:6333" }`), []);
  assert.deepEqual(warningsOf('storage: { database: "postgres://h/db" }'), []);
});

test('a shadow is a chat model that exists, or targets of providers that do', () => {
  const shadowed = (shadow: string, type = 'chat') =>
    errorsOf(
      [
        'providers: { local: { type: openai, api_key: x } }',
        'models:',
        `  a: { type: ${type}, targets: [local/q], shadow: { share: 10%, ${shadow} } }`,
        '  small: { targets: [local/s] }',
        '  vec: { type: embedding, targets: [local/e] }',
      ].join('\n'),
    );
  assert.deepEqual(shadowed('model: small'), []);
  assert.deepEqual(shadowed('targets: [local/other]'), []);
  assert.deepEqual(shadowed('model: smal'), ["models.a.shadow.model: there is no such model (did you mean 'small'?)"]);
  assert.deepEqual(shadowed('model: vec'), ['models.a.shadow.model: it is not of type chat']);
  assert.deepEqual(shadowed('targets: [locl/other]'), [
    "models.a.shadow.targets[0]: there is no such provider (did you mean 'local'?)",
  ]);
  for (const both of ['model: small, targets: [local/other]', 'timeout: 5s'])
    assert.match(shadowed(both).join(), /models\.a\.shadow/);
  assert.match(shadowed('model: small', 'embedding').join(), /only a model of type chat has a shadow/);
});
