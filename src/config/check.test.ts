// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these texts are culvert.yaml, whose references look like this
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { checkConfigText } from './check.ts';
import { configOf, errorsOf } from './config-of.fixture.ts';
import { formatProblem } from './problem.ts';
import { configSchema } from './schema.ts';
import { knownKeys } from './schema-issues.ts';

test('a value that could not be read is not also asked for', () => {
  const errors = errorsOf(
    'providers: { a: { type: azure-openai, base_url: "${AZURE_BASE}", api_key: "${AZURE_KEY}" } }',
  );
  assert.equal(errors.length, 2, errors.join('\n'));
  assert.match(errors.join(), /AZURE_BASE is not set.*AZURE_KEY is not set/s);
});

test('an error has the form of design §5: file, line, column of the key, path, what is expected', () => {
  const text = `# 1
server: { port: 4141 }


# 5
providers:
  # 7
  openai:
    # 9
    type: openai
    api_key: abc

    timeouts:
      first_token: 30
`;
  assert.deepEqual(errorsOf(text), [
    'culvert.yaml:14:7 providers.openai.timeouts.first_token: expected a duration such as 30s',
  ]);
});

test('an empty file, a file of comments and keys without values are the defaults', () => {
  const defaults = configOf('');
  assert.equal(defaults.server.host, '127.0.0.1');
  assert.equal(defaults.server.port, 4141);
  assert.equal(defaults.server.body_limit, 32 * 1024 * 1024);
  assert.equal(defaults.storage.retention, 90 * 86_400_000);
  assert.deepEqual(defaults.plans.default, { rpm: 'off', storage: 'off', scope: 'account' });
  assert.deepEqual(configOf('# nothing\n'), defaults);
  assert.deepEqual(configOf('providers:\n  # openai: {}\nmodels:\nserver: { host: }\n'), defaults);
});

test('unknown keys say what was meant', () => {
  assert.deepEqual(errorsOf('sever: { port: 1 }'), ["culvert.yaml:1:1 sever: unknown key (did you mean 'server'?)"]);
  assert.deepEqual(errorsOf('server:\n  prot: 1\n  time: 2\n'), [
    "culvert.yaml:2:3 server.prot: unknown key (did you mean 'port'?)",
    `culvert.yaml:3:3 server.time: unknown key; allowed: ${knownKeys(configSchema, ['server']).join(', ')}`,
  ]);
  assert.deepEqual(errorsOf('models: { "a/b": { targets: [{ provider: p, model: m, prio: 2 }] } }'), [
    'culvert.yaml:1:55 models["a/b"].targets[0].prio: unknown key (did you mean \'priority\'?)',
  ]);
});

test('a key that belongs to a mapping beside it says which', () => {
  const unknown = errorsOf('keys: [{ key: sk-cv-12345678, rpm: 5, max_budget: 10 }]');
  assert.match(unknown.join('\n'), /keys\[0\]\.rpm: unknown key \(did you mean 'limits\.rpm'\?\)/);
  assert.match(unknown.join('\n'), /keys\[0\]\.max_budget: unknown key \(did you mean 'limits\.budget'\?\)/);
  // Both its targets and its shadow have a model.
  const target = errorsOf('models: { a: { model: m } }').join('\n');
  assert.match(target, /models\.a\.model: unknown key \(did you mean 'model' of an item of 'targets'\?\)/);
});

test('a key that belongs to the items of a list beside it says which list', () => {
  assert.deepEqual(errorsOf('models: { a: { price: { input: 1 }, targets: [p/m] } }'), [
    "culvert.yaml:1:16 models.a.price: unknown key (did you mean 'price' of an item of 'targets'?)",
  ]);
});

test('a key that belongs to another section says which', () => {
  assert.deepEqual(errorsOf('server: { data_dir: /data }'), [
    "culvert.yaml:1:11 server.data_dir: unknown key (did you mean 'storage.data_dir'?)",
  ]);
  assert.deepEqual(errorsOf('public_url: https://ai.example.org'), [
    "culvert.yaml:1:1 public_url: unknown key (did you mean 'server.public_url'?)",
  ]);
  assert.deepEqual(errorsOf('server: { default_plan: free }'), [
    "culvert.yaml:1:11 server.default_plan: unknown key (did you mean 'default_plan' at the top of the file?)",
  ]);
  // Several sections have one of this name, so none is named.
  assert.match(
    errorsOf('plans: { a: { url: "redis://x" } }')[0]!,
    /^culvert\.yaml:1:15 plans\.a\.url: unknown key; allowed: /,
  );
  assert.deepEqual(errorsOf('providers: { up: { type: openai, models: [a] } }').slice(0, 1), [
    "culvert.yaml:1:34 providers.up.models: unknown key (did you mean 'models' at the top of the file?)",
  ]);
});

test('a file that is a list says what a file holds', () => {
  assert.match(
    errorsOf('- a')[0]!,
    / expected a mapping \(key: value\) with server, admin, .*, models, .*, autodetect$/,
  );
});

test('a wrong value says what is expected', () => {
  for (const [text, message] of [
    ['server: { port: "x" }', 'server.port: expected a number'],
    ['server: { port: 70000 }', 'server.port: expected a number of at most 65535'],
    ['admin: 5', 'admin: expected a mapping (key: value) with key, dashboard'],
    [
      'providers: [{ type: openai }]',
      'providers: expected a mapping (key: value), such as openai: { type: openai, api_key: "${OPENAI_API_KEY}" }',
    ],
    ['models: [smart]', 'models: expected a mapping (key: value), such as smart: { targets: [openai/gpt-6.1-sol] }'],
    [
      'model_list: []\nlitellm_settings: {}',
      'model_list: this is a configuration of LiteLLM; "culvert import litellm culvert.yaml" makes one for Culvert from it',
    ],
    [
      'models: { smart: openai/gpt-5.1 }',
      'models.smart: expected a mapping (key: value), such as smart: { targets: [openai/gpt-6.1-sol] }',
    ],
    ['keys: {}', 'keys: expected a list'],
    ['keys: [sk-cv-12345678]', 'keys[0]: expected a mapping (key: value), such as { key: "${DEV_KEY}", account: dev }'],
    ['keys: [{ name: a }]', 'keys[0].key: is required'],
    ['telemetry: { prometheus: yes }', 'telemetry.prometheus: expected true or false'],
    ['simulator: atuo', "simulator: expected one of auto, off, on (did you mean 'auto'?)"],
    ['models: { a: { targets: [] } }', 'models.a.targets: expected at least one target'],
    ['models: { a: {} }', 'models.a.targets: is required'],
    [
      'models: { a: { targets: [5] } }',
      'models.a.targets[0]: expected provider/model or an object with provider and model',
    ],
    ['models: { a: { targets: [gpt] } }', 'models.a.targets[0]: expected provider/model'],
    ['models: { a: { targets: [{ model: x }] } }', 'models.a.targets[0].provider: is required'],
    ['plans: { a: { rpm: 0 } }', 'plans.a.rpm: expected a number of at least 1'],
    ['plans: { a: { rpm: none } }', 'plans.a.rpm: expected off or a whole number of at least 1'],
    ['plans: { a: { windows: { quarter: 5 } } }', 'plans.a.windows.quarter: unknown key; allowed: 5h, week, month'],
    [
      'providers: { "a b": { type: openai } }',
      'providers["a b"]: a provider\'s name has 1 to 64 letters, digits, dots, _ or -',
    ],
    [
      'providers: { constructor: { type: openai } }',
      "providers.constructor: a provider's name must not be a reserved word of JavaScript",
    ],
    [
      'models: { "a*b*": { targets: [p/m] } }',
      'models["a*b*"]: a model name holds single spaces inside alone, no control characters, and at most one *',
    ],
    [`keys: [{ key: sk-cv-12345678, sha256: ${'0a'.repeat(32)} }]`, 'keys[0].sha256: key is its secret already'],
    ['keys: [{ sha256: 0A }]', 'keys[0].sha256: expected 64 small hex digits, the SHA-256 of the secret'],
    ['keys: [{ key: sk-cv-short }]', 'keys[0].key: expected sk-cv- followed by 8 to 200 letters, digits, _ or -'],
    ['keys: [{ key: sk-cv-admin-12345678 }]', 'keys[0].key: sk-cv-admin- is for the admin key (admin.key)'],
  ] as const) {
    const errors = errorsOf(text);
    assert.equal(errors.length, 1, `${text}\n${errors.join('\n')}`);
    assert.ok(errors[0]!.endsWith(message), `${text}\n${errors[0]}`);
  }
});

test('several errors come together, in the order of the file', () => {
  const lines = errorsOf('server: { port: -1 }\nsimulator: no\nproviders: { a: { type: opena } }\n');
  assert.deepEqual(
    lines.map((line) => line.split(' ')[0]),
    ['culvert.yaml:1:11', 'culvert.yaml:2:1', 'culvert.yaml:3:19'],
  );
});

test('references stand in every kind of scalar, and keep the places of what follows', () => {
  const env = { HOST: '0.0.0.0', PORT: '8080', KEY: '12345', ON: 'false', LIMIT: '1mb' };
  const config = configOf(
    `server: { host: \${HOST}, port: \${PORT}, body_limit: "\${LIMIT}" }
admin: { key: \${ADMIN:-} }
telemetry: { prometheus: \${ON} }
providers: { a: { type: openai, api_key: \${KEY}, base_url: "http://\${HOST}:\${PORT}/v1" } }
keys: [ { key: sk-cv-\${NAME:-abcdefgh}, name: one }, { key: '\${OTHER:-sk-cv-hgfedcba}', name: two } ]
`,
    env,
  );
  assert.equal(config.server.host, '0.0.0.0');
  assert.equal(config.server.port, 8080);
  assert.equal(config.server.body_limit, 1024 * 1024);
  assert.equal(config.telemetry.prometheus, false);
  assert.equal(config.admin.key, undefined);
  assert.equal(config.providers.a?.api_key, '12345', 'a number is text where text is wanted');
  assert.equal(config.providers.a?.base_url, 'http://0.0.0.0:8080/v1');
  assert.deepEqual(
    config.keys.map((key) => key.key),
    ['sk-cv-abcdefgh', 'sk-cv-hgfedcba'],
  );
  assert.deepEqual(errorsOf('server: { host: ${HOST}, prot: 1 }', env), [
    "culvert.yaml:1:26 server.prot: unknown key (did you mean 'port'?)",
  ]);
});

test('a variable that is not set, or empty, is an error at its line unless it has a default', () => {
  const text = 'server: {}\nproviders:\n  a: { type: openai, api_key: ${NOPE} }\n';
  const expected =
    'culvert.yaml:3:22 providers.a.api_key: the environment variable NOPE is not set (${NOPE:-} would make it optional)';
  assert.deepEqual(errorsOf(text), [expected]);
  assert.deepEqual(errorsOf(text, { NOPE: '' }), [expected]);
  assert.equal(errorsOf('server: { host: ${toString} }').length, 1);
  assert.deepEqual(
    errorsOf('keys: [{ key: ${NOPE}, nam: x }]').map((line) => line.split(':').slice(0, 4).join(':')),
    [
      'culvert.yaml:1:10 keys[0].key: the environment variable NOPE is not set (${NOPE',
      "culvert.yaml:1:24 keys[0].nam: unknown key (did you mean 'name'?)",
    ],
    'what could not be read is not said to be missing as well',
  );
  configOf('# ${NOPE} in a comment is only a comment\n');
  assert.equal(configOf('default_plan: ${PLAN:-default}', { PLAN: '' }).default_plan, 'default');
});

test('what a variable holds is never read as YAML', () => {
  const config = configOf('storage: { data_dir: ${DIR} }', { DIR: 'x, secret: y } # ${HOME}' });
  assert.equal(config.storage.data_dir, 'x, secret: y } # ${HOME}');
  assert.equal(config.storage.secret, undefined);
});

test('references that cannot be read say why', () => {
  for (const [text, message] of [
    ['admin: { key: ${1X} }', /expected \$\{NAME\}/],
    ['admin: { key: "${A:-${B}}" }', /inside another/],
    ['admin:\n  key: ${A\n', /not closed/],
    ['admin: { key: ${file:} }', /expected a path/],
    ['admin: { key: ${file:/nowhere/at/all} }', /cannot read the file \/nowhere\/at\/all \(ENOENT\)/],
    ['${A}: 1', /not in keys/],
    ['a: "\u{e000}"', /U\+E000/],
  ] as const) {
    assert.match(errorsOf(text, { A: 'a', B: 'b' }).join('\n'), message, text);
  }
  assert.equal(configOf('storage: { data_dir: $${A} }', { A: 'a' }).storage.data_dir, '${A}');
});

test('${file:…} is read relative to the configuration file, without its last line end', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-config-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'key'), 'from-a-file\n');
  writeFileSync(join(folder, 'large'), 'x'.repeat(70_000));
  const check = (name: string) =>
    checkConfigText(`providers: { a: { type: openai, api_key: \${file:${name}} } }`, join(folder, 'culvert.yaml'), {});
  const result = check('key');
  assert.ok(result.ok);
  assert.equal(result.config.providers.a?.api_key, 'from-a-file');
  assert.deepEqual(result.sources, [join(folder, 'culvert.yaml'), join(folder, 'key')]);
  const large = check('large');
  assert.ok(!large.ok && large.errors[0]!.message.includes('larger than 64 KB'));
  const directory = check('.');
  assert.ok(!directory.ok && directory.errors[0]!.message.includes('is not a file'));
});

test('no message ever holds a secret, however the file is broken', () => {
  const secret = 'TopSecretValue';
  const text = `admin: { key: ${secret} }
providers:
  a: { type: openai, api_key: ${secret}, headers: { authorization: "Bearer ${secret}" } }
  b: { type: \${S}, api_key: \${S}, credentials: [ { api_key: \${S}, rpm: \${S} } ], timeouts: { idle: \${S} } }
keys: [ { key: ${secret}, account: \${S}, expires: \${S} } ]
default_plan: \${S}
storage: { secret: ${secret}, database: "postgres//u:${secret}@h" }
`;
  let checked = 0;
  for (let cut = 0; cut < text.length; cut++) {
    for (const broken of [
      text.slice(0, cut),
      `${text.slice(0, cut)}}${text.slice(cut)}`,
      `${text.slice(0, cut)}\n: ${text.slice(cut)}`,
    ]) {
      const result = checkConfigText(broken, 'culvert.yaml', { S: secret });
      if (result.ok) continue;
      for (const error of result.errors) {
        checked++;
        // A cut can make a key of the file's own out of a value; a value itself is never repeated.
        assert.ok(!error.message.includes(secret), `${broken}\n${formatProblem(error)}`);
      }
    }
  }
  assert.ok(checked > 1_000);
});

test('a value of the environment is quoted by no message, in whatever setting it is written', () => {
  const secret = 'sk-proj-AbC_123def';
  const prompt = (content: string) => `prompts: { p: { messages: [{ role: user, content: "${content}" }] } }`;
  const rule = (when: string) => `routes: { r: { when: "${when}", model: m } }`;
  for (const [text, value, words] of [
    [rule("model.matches('(${S}')"), secret, 'routes.r.when: line 1, column 15 of the condition: this is no regular'],
    [rule('${S}'), 'canary_of_this', 'routes.r.when: line 1, column 1 of the condition: there is no …'],
    [rule('model == ${S}'), 'canary_of_this', 'routes.r.when: line 1, column 10 of the condition: there is no …'],
    [prompt('{{${S}}}'), 'canary_of_this', 'prompts.p.messages[0].content: …'],
    ['include: ["${S}/../../../../../../../../dev/null"]', secret, 'include: include[0] is not a file'],
    // The hint would tell how near a guess is.
    ['plans: { canary_of_thi: {} }\ndefault_plan: ${S}', 'canary_of_this', 'default_plan: there is no such plan …'],
  ] as const) {
    const result = checkConfigText(text, 'culvert.yaml', { S: value });
    assert.ok(!result.ok, text);
    const [error] = result.errors;
    assert.doesNotMatch(error!.message, /canary|AbC_123/, text);
    assert.ok(formatProblem(error!).includes(words), formatProblem(error!));
  }
});

test('nor by a warning', () => {
  const env = { S: 'https://gw.example/?token=canary' };
  const result = checkConfigText('server: { public_url: "${S}" }', 'culvert.yaml', env);
  assert.ok(result.ok && result.warnings.length === 1);
  assert.doesNotMatch(JSON.stringify(result.warnings), /canary/);
});
