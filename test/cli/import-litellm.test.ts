import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { importLiteLlm } from '../../src/cli/import/import-litellm.ts';
import type { Imported } from '../../src/cli/import/imported.ts';
import { importedText } from '../../src/cli/import/write-imported.ts';
import { checkConfigText } from '../../src/config/check.ts';
import { formatProblem } from '../../src/config/problem.ts';
import type { Config } from '../../src/config/schema.ts';
import { startGateway } from '../start-gateway.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';

/* Design §5: `culvert import litellm FILE` converts LiteLLM's config. */

const fileOf = (name: string) => readFileSync(new URL(`litellm/${name}.yaml`, import.meta.url), 'utf8');

function imported(text: string): Imported {
  const result = importLiteLlm(text);
  if (!result.ok) assert.fail(result.message);
  return result.imported;
}

/** Our own loader's result for the new file, with every variable set to its own name. */
function loaded(one: Imported, env: Record<string, string> = {}): Config {
  const set = Object.fromEntries([...one.variables.keys()].map((name) => [name, `value-of-${name}`]));
  const checked = checkConfigText(importedText(one, 'c.yaml', 'litellm'), 'culvert.yaml', { ...set, ...env });
  if (!checked.ok) assert.fail(checked.errors.map(formatProblem).join('\n'));
  assert.deepEqual(checked.warnings, []);
  return checked.config;
}

const place = (config: Config, alias: string) =>
  config.models[alias]!.targets.map(({ provider, model, priority, weight }) => [provider, model, priority, weight]);

const lines = ({ notes }: Imported) => notes.map(({ line, path, message }) => `${line} ${path}: ${message}`);

/** An entry of `model_list` with these parameters, and `info` as its `model_info`. */
const entryOf = (alias: string, { info = {}, ...params }: { info?: object; [name: string]: unknown }) => ({
  model_name: alias,
  litellm_params: { model: 'openai/gpt-4o', api_key: 'os.environ/KEY', ...params },
  model_info: info,
});

const team = imported(fileOf('team'));
const teamEnv = { AZURE_US_BASE: 'https://team-us.openai.azure.com' };

test('entries of one name become targets of one model, with order as priority and rates as weights', () => {
  const config = loaded(team, teamEnv);
  assert.deepEqual(place(config, 'gpt-4o'), [
    ['azure', 'gpt-4o-eu', 1, 1],
    ['azure-2', 'gpt-4o-us', 1, 0.5],
    ['openai', 'gpt-4o', 2, 0.5],
  ]);
  assert.deepEqual(config.models['gpt-4']!.targets, config.models['gpt-4o']!.targets);
  const { azure, 'azure-2': other, openai } = config.providers;
  assert.deepEqual(
    [azure!.type, azure!.base_url, azure!.api_version, azure!.credentials],
    [
      'azure-openai',
      'https://team-eu.openai.azure.com',
      '2025-01-01-preview',
      [{ api_key: 'value-of-AZURE_EU_KEY', weight: 1, rpm: 600 }],
    ],
  );
  assert.equal(other!.base_url, teamEnv.AZURE_US_BASE);
  assert.deepEqual(openai!.headers, { 'OpenAI-Organization': 'value-of-OPENAI_ORG' });
});

test('what model_info says is carried: prices a million, windows, capabilities, types', () => {
  const config = loaded(team, teamEnv);
  const target = config.models['gpt-4o']!.targets[2]!;
  const told = { input: 2.5, output: 10, cached_input: 1.25, cache_write: 3, audio_output: 20 };
  assert.deepEqual(target.price, told);
  assert.deepEqual([target.context_window, target.max_output_tokens], [128_000, 16_384]);
  assert.deepEqual(target.capabilities, { vision: true });
  assert.deepEqual(config.models.house!.targets[0]!.capabilities, { streaming: false });
  assert.deepEqual(config.models.house!.targets[0]!.body, { chat_template_kwargs: { enable_thinking: false } });
  const shapes = loaded(imported(fileOf('shapes')));
  const types = Object.entries(shapes.models).map(([alias, { type }]) => [alias, type]);
  assert.deepEqual(Object.fromEntries(types), {
    small: 'chat',
    speak: 'speech',
    write: 'transcription',
    paint: 'image',
    'search-order': 'rerank',
    sonar: 'chat',
    'other-gateway': 'chat',
    keyless: 'chat',
  });
  assert.deepEqual(shapes.models.paint!.targets[0]!.price, { image: 0.04 });
});

test('prices of longer input and of service tiers are carried, and factors that Anthropic’s models have', () => {
  const priced = (info: object) => {
    const model = { model_name: 'm', litellm_params: { model: 'openai/m', api_key: 'os.environ/K' }, model_info: info };
    const one = imported(JSON.stringify({ model_list: [model] }));
    return { price: loaded(one).models.m!.targets[0]!.price, told: one.notes.map(({ message }) => message) };
  };
  const usual = { input_cost_per_token: 1.25e-6, output_cost_per_token: 1e-5, input_cost_per_image_token: 2e-6 };
  const longer = {
    input_cost_per_token_above_200k_tokens: 2.5e-6,
    output_cost_per_token_above_200k_tokens: 1.5e-5,
    cache_creation_input_token_cost_above_1hr_above_200k_tokens: 5e-6,
    input_cost_per_token_above_128k_tokens: 2e-6,
  };
  const tiers = {
    input_cost_per_token_flex: 0.625e-6,
    output_cost_per_token_flex: 0.5e-5,
    input_cost_per_token_priority: 2.25e-6,
    output_cost_per_token_priority: 1.8e-5,
    input_cost_per_token_above_200k_tokens_priority: 4.5e-6,
  };
  const rates = { input: 1.25, output: 10, image_input: 2 };
  const above = [
    { input_tokens: 128_000, input: 2 },
    { input_tokens: 200_000, input: 2.5, output: 15, cache_write_1h: 5 },
  ];
  assert.deepEqual(priced({ ...usual, ...longer, ...tiers, provider_specific_entry: { us: 1.1, fast: 6 } }), {
    price: { ...rates, above, served_as: { flex: 0.5, priority: 1.8, us: 1.1, fast: 6 } },
    told: [],
  });
  const odd = priced({
    ...usual,
    ...tiers,
    output_cost_per_token_priority: 3e-5,
    provider_specific_entry: { 'a b': 2, ['__proto__']: 3 },
  });
  assert.deepEqual(odd.price, { ...rates, served_as: { flex: 0.5 } });
  assert.match(
    odd.told.join('; '),
    /prices of priority are not the usual ones times one factor(.*it is no word for how){2}/,
  );
  const alone = priced({ ...longer, provider_specific_entry: { fast: 6 } });
  assert.deepEqual(alone.price, { served_as: { fast: 6 } });
  assert.match(alone.told.join(), /there is no price of shorter input/);
});

test('what costs nothing keeps that price, also of videos and queries', () => {
  const priced = (info: object) =>
    loaded(imported(JSON.stringify({ model_list: [entryOf('m', { info })] }))).models.m!.targets[0]!.price;
  assert.deepEqual(priced({ input_cost_per_token: 0, output_cost_per_token: '0.0' }), { input: 0, output: 0 });
  assert.deepEqual(priced({ output_cost_per_video_per_second: 0.1 }), { video_second: 0.1 });
  assert.deepEqual(priced({ input_cost_per_query: 0.002 }), { request: 0.002 });
});

test('beside weights, an entry without one gets next to no requests, as at LiteLLM', () => {
  const one = imported(
    JSON.stringify({
      model_list: [
        entryOf('m', { model: 'openai/heavy', weight: 3 }),
        entryOf('m', { model: 'openai/light', weight: 1, rpm: 500 }),
        entryOf('m', { model: 'openai/none' }),
        entryOf('m', { model: 'openai/spare', order: 2 }),
        entryOf('n', { model: 'openai/first' }),
        entryOf('n', { model: 'openai/heavy', weight: 3 }),
      ],
    }),
  );
  const config = loaded(one);
  assert.deepEqual(place(config, 'm'), [
    ['openai', 'heavy', 2, 1],
    ['openai', 'light', 2, 0.333],
    ['openai', 'none', 2, 0.001],
    ['openai', 'spare', 1, 1],
  ]);
  assert.deepEqual(
    place(config, 'n').map(([, , , weight]) => weight),
    [1, 1],
  );
  assert.match(lines(one).join('\n'), /model_list\[2\].*without a weight, LiteLLM asks it in need alone/);
});

test("a bare name of Google's embeddings is a model of Vertex AI", () => {
  const params = { model: 'text-embedding-004', vertex_project: 'my-project-1', vertex_location: 'us-central1' };
  const one = imported(JSON.stringify({ model_list: [entryOf('e', params)] }));
  assert.deepEqual(
    Object.values(loaded(one).providers).map(({ type }) => type),
    ['vertex'],
  );
});

test('an order ranks before none, from 0 on, and a weight of 0 gets no requests', () => {
  const one = imported(
    JSON.stringify({
      model_list: [
        entryOf('m', { model: 'openai/none' }),
        entryOf('m', { model: 'openai/second', order: 7 }),
        entryOf('m', { model: 'openai/first', order: 0 }),
        entryOf('m', { model: 'openai/drained', weight: 0 }),
      ],
      router_settings: { fallbacks: [{ m: [{ model: 'other' }] }] },
    }),
  );
  assert.deepEqual(
    place(loaded(one), 'm').map(([, model, priority]) => [model, priority]),
    [
      ['none', 3],
      ['second', 2],
      ['first', 1],
    ],
  );
  assert.match(lines(one).join('\n'), /litellm_params\.weight: this model is not carried over: its weight is 0/);
  assert.match(lines(one).join('\n'), /fallbacks with parameters are not carried over/);
});

test('beyond a thousand notes their number is told', () => {
  const model_list = Array.from({ length: 1_002 }, (_, at) => entryOf(`m${at}`, { seed: 1 }));
  const { notes } = imported(JSON.stringify({ model_list }));
  assert.equal(notes.length, 1_001);
  assert.equal(notes[0]!.message, '2 more notes are not listed');
});

test('the router’s settings win over the library’s: attempts, timeouts, fallbacks without a way back', () => {
  const { models, providers } = loaded(team, teamEnv);
  assert.equal(models.claude!.attempts, 5);
  assert.equal(providers.anthropic!.timeouts.total, 300_000);
  assert.deepEqual(models.claude!.targets[0]!.timeouts, { total: 120_000, first_token: 15_500 });
  assert.deepEqual(models['gpt-4o']!.fallbacks, ['claude', 'local']);
  assert.deepEqual(models.claude!.fallbacks, []);
  const told = lines(team).join('\n');
  assert.match(told, /claude: the fallback to gpt-4o is not carried over: it leads back to the model itself/);
  assert.match(told, /nobody: not carried over: there is no model nobody here/);
});

test('another name of a model is a model; of a pattern it is none, unless it is a pattern itself', () => {
  const { config, notes } = imported(`
model_list:
  - { model_name: one, litellm_params: { model: openai/a, api_key: sk-a } }
  - { model_name: 'any/*', litellm_params: { model: 'openai/*', api_key: sk-a } }
router_settings: { model_group_alias: { uno: one, any: 'any/*', 'all/*': 'any/*', one: 'any/*', none: nobody } }`);
  assert.deepEqual(Object.keys(config.models as object).toSorted(), ['all/*', 'any/*', 'one', 'uno']);
  const why = Object.fromEntries(notes.map(({ path, message }) => [path.replace(/.*\./, ''), message]));
  const pattern = 'not carried over: a pattern can only be called by a pattern';
  assert.deepEqual([why.any, why.one, why.none], [pattern, pattern, 'not carried over: there is no model nobody here']);
});

test('a fallback that leads back over another model is left out', () => {
  const { config, notes } = imported(`
model_list:
  - { model_name: one, litellm_params: { model: openai/a, api_key: sk-a } }
  - { model_name: two, litellm_params: { model: openai/b, api_key: sk-a } }
  - { model_name: three, litellm_params: { model: openai/c, api_key: sk-a } }
router_settings: { fallbacks: [{ one: [two] }, { two: [three] }, { three: [one] }] }`);
  const { models } = config as { models: Record<string, { fallbacks?: string[] }> };
  assert.deepEqual(
    [models.one!.fallbacks, models.two!.fallbacks, models.three!.fallbacks],
    [['two'], ['three'], undefined],
  );
  assert.match(JSON.stringify(notes), /the fallback to one is not carried over: it leads back to the model itself/);
});

test('copies of one embedding model stand in for each other, other models do not', () => {
  const { models } = loaded(team, teamEnv);
  assert.equal(models.embed!.space, 'embed');
  assert.deepEqual(
    models.embed!.targets.map(({ model }) => model),
    ['text-embedding-3-small', 'emb-deployment'],
  );
  assert.deepEqual(
    models.embed!.targets.map(({ priced_as }) => priced_as),
    [undefined, 'text-embedding-3-small'],
    'base_model says whose price it has',
  );
  const mixed = imported(`
model_list:
  - { model_name: e, litellm_params: { model: openai/text-embedding-3-small } }
  - { model_name: e, litellm_params: { model: voyage/voyage-3 } }
  - { model_name: e, litellm_params: { model: azure/any, api_base: "https://a.example" } }`);
  assert.deepEqual(
    loaded(mixed).models.e!.targets.map(({ model }) => model),
    ['text-embedding-3-small', 'any'],
  );
  assert.match(
    lines(mixed).join('\n'),
    /^4 model_list\[1\]: this model is not carried over: its vectors are not those/m,
  );
});

test('patterns stand behind names, the narrowest first', () => {
  const wild = imported(`
model_list:
  - { model_name: "*", litellm_params: { model: openai/* } }
  - { model_name: "openai/*", litellm_params: { model: openai/* } }
  - { model_name: "openai/gpt-*", litellm_params: { model: openrouter/openai/gpt-* } }
  - { model_name: plain, litellm_params: { model: groq/llama } }`);
  const { models } = loaded(wild);
  assert.deepEqual(Object.keys(models), ['plain', 'openai/gpt-*', 'openai/*', '*']);
  assert.equal(models['openai/gpt-*']!.targets[0]!.model, 'openai/gpt-*');
});

test("a service whose account LiteLLM's file lacks is left out with the type to write; Hugging Face's router is asked", () => {
  const file = `
model_list:
  - { model_name: a, litellm_params: { model: watsonx_text/ibm/granite } }
  - { model_name: b, litellm_params: { model: cloudflare/@cf/meta/llama } }
  - { model_name: c, litellm_params: { model: huggingface/together/deepseek-ai/DeepSeek-R1 } }
  - { model_name: d, litellm_params: { model: huggingface/Qwen/Qwen3, api_base: "https://mine.endpoints.huggingface.cloud/", api_key: os.environ/X } }`;
  const result = imported(file);
  const notes = lines(result);
  for (const type of ['watsonx', 'cloudflare'])
    assert.ok(
      notes.some((line) => line.includes(`Write a provider by hand: type ${type} (`)),
      notes.join('\n'),
    );
  const { models, providers } = loaded(result);
  assert.deepEqual(Object.keys(models), ['c', 'd']);
  assert.equal(models.c!.targets[0]!.model, 'deepseek-ai/DeepSeek-R1:together');
  const { provider, model } = models.d!.targets[0]!;
  assert.deepEqual(
    [model, providers[provider]!.base_url],
    ['Qwen/Qwen3', 'https://mine.endpoints.huggingface.cloud/v1'],
  );
});

test('a service that speaks OpenAI’s API is asked at its address, with its key there alone', () => {
  const file = `
model_list:
  - { model_name: a, litellm_params: { model: volcengine/doubao-pro } }
  - { model_name: b, litellm_params: { model: nano-gpt/deepseek/v3, api_base: "https://mine.example/v1" } }`;
  const { models, providers } = loaded(imported(file));
  const placeOf = (alias: string) => {
    const { provider, model } = models[alias]!.targets[0]!;
    const { type, base_url, api_key } = providers[provider]!;
    return [type, base_url, api_key, model];
  };
  const ark = 'https://ark.cn-beijing.volces.com/api/v3';
  assert.deepEqual(placeOf('a'), ['openai', ark, 'value-of-VOLCENGINE_API_KEY', 'doubao-pro']);
  assert.deepEqual(placeOf('b'), ['openai', 'https://mine.example/v1', undefined, 'deepseek/v3']);
});

test('settings of end users and tokens name what does their work here', () => {
  const told = lines(
    imported(
      JSON.stringify({
        model_list: [entryOf('a', {})],
        litellm_settings: { max_end_user_budget: 5 },
        general_settings: { user_header_name: 'X-OpenWebUI-User-Id', enable_jwt_auth: true },
      }),
    ),
  ).join('\n');
  assert.match(told, /max_end_user_budget: not carried over: accounts\.NAME\.budgets, with by: user/);
  assert.match(told, /user_header_name: not carried over: callers send x-culvert-user/);
  assert.match(told, /enable_jwt_auth: not carried over: callers\.tokens takes the tokens of an issuer/);
});

test('what has no place is told with its line, and stands in the file as a comment', () => {
  const told = lines(team);
  for (const wanted of [
    /^43 model_list\[3\]\.litellm_params\.temperature: not carried over/,
    /^47 model_list\[4\]\.litellm_params\.model: this model is not carried over: no provider here is named clarifai\. Write one by hand: type openai/,
    /^\d+ litellm_settings\.cache: carried over as models\.NAME\.cache, whose answers one key shares/,
    /^\d+ litellm_settings\.cache_params\.password: not carried over: storage\.cache/,
    /^\d+ litellm_settings\.success_callback: not carried over: telemetry\.loggers sends traces to Langfuse/,
    /^84 litellm_settings\.num_retries: not carried over: router_settings has it too, and takes precedence/,
    /^\d+ router_settings\.routing_strategy: not carried over/,
    /^\d+ general_settings\.database_url: not carried over/,
    /^\d+ general_settings\.master_key: becomes admin\.key, which calls no models/,
  ]) {
    assert.ok(
      told.some((line) => wanted.test(line)),
      `${wanted} in\n${told.join('\n')}`,
    );
  }
  assert.doesNotMatch(told.join('\n'), /drop_params/);
  assert.match(
    importedText(team, 'c.yaml', 'litellm'),
    /^# {3}line 47, model_list\[4\]\.litellm_params\.model: this model is not/m,
  );
});

test('names with spaces, Codestral and a key that comes twice are carried over; a model in the environment is named', () => {
  const one = imported(`
model_list:
  - model_name: Local LLM
    litellm_params: { model: hosted_vllm/qwen3, api_base: http://127.0.0.1:8000/v1, max_retries: 5 }
  - model_name: fill
    litellm_params: { model: text-completion-codestral/codestral-latest }
  - model_name: lake
    litellm_params: { model: databricks/dbrx, api_base: https://acme.example/serving-endpoints, api_key: os.environ/LAKE_KEY }
  - model_name: somewhere
    litellm_params: { model: os.environ/MODEL_ID, api_base: http://127.0.0.1:9/v1 }
litellm_settings: { request_timeout: 30, request_timeout: 60 }
`);
  const config = loaded(one);
  assert.deepEqual(Object.keys(config.models), ['Local LLM', 'fill', 'lake']);
  const { codestral, databricks } = config.providers;
  const fill = config.providers[config.models.fill!.targets[0]!.provider]!;
  assert.deepEqual([codestral, fill.type, fill.base_url], [codestral, 'mistral', 'https://codestral.mistral.ai/v1']);
  assert.deepEqual([databricks!.type, databricks!.timeouts.total], ['databricks', 60_000]);
  const told = lines(one).join('\n');
  assert.match(told, /its provider and its name are in MODEL_ID: write them into the file/);
  assert.match(told, /max_retries: not carried over: models\.NAME\.attempts sets/);
});

test('odd entries are left out one by one, with why', () => {
  const one = imported(fileOf('shapes'));
  const told = lines(one).join('\n');
  assert.match(told, /a name has single spaces inside alone, at most 256 characters and at most one \*/);
  assert.match(told, /a \* there needs a \* in model_name/);
  assert.match(told, /nothing says which service has the model some-model/);
  assert.match(told, /it is not a mapping/);
  assert.match(told, /no key is sent there: LiteLLM sends OPENAI_API_KEY, which is for openai/);
  assert.match(told, /environment_variables: not carried over: set them in the environment/);
  const { providers, models } = loaded(one);
  assert.deepEqual(models.sonar!.fallbacks, ['small']);
  assert.deepEqual(place(loaded(one), 'small'), [
    ['openai', 'gpt-4o-mini', 1, 1],
    ['mistral', 'mistral-small', 1, 0.333],
  ]);
  assert.equal(providers.mistral!.api_key, 'value-of-MISTRAL_KEY');
});

test('models in clouds keep their region, project and credentials, and lose LiteLLM’s routes', () => {
  const one = imported(fileOf('clouds'));
  const config = loaded(one, { AWS_ROLE: 'arn:aws:iam::123456789012:role/models' });
  const targets = Object.entries(config.models).map(([alias, { targets }]) => [alias, targets[0]!]) as [
    string,
    { provider: string; model: string },
  ][];
  const found = Object.fromEntries(
    targets.map(([alias, { provider, model }]) => {
      const { type, region, project, aws, google, entra, api_key, base_url } = config.providers[provider]!;
      return [alias, [type, model, { region, project, aws, google, entra, api_key, base_url }]] as const;
    }),
  );
  const known = (members: object) => JSON.parse(JSON.stringify(members)) as unknown;
  assert.deepEqual(known(found), {
    claude: [
      'bedrock',
      'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
      {
        region: 'us-east-1',
        aws: {
          access_key_id: 'value-of-AWS_ID',
          secret_access_key: 'value-of-AWS_SECRET',
          role_arn: 'arn:aws:iam::123456789012:role/models',
        },
      },
    ],
    nova: ['bedrock', 'amazon.nova-lite-v1:0', { region: 'eu-central-1', aws: { profile: 'work' } }],
    titan: ['bedrock', 'amazon.titan-embed-text-v2:0', { region: 'eu-west-1' }],
    keyed: ['bedrock', 'meta.llama3-8b-instruct-v1:0', { region: 'us-west-2', api_key: 'value-of-BEDROCK_KEY' }],
    gemini: [
      'vertex',
      'gemini-2.5-flash',
      { region: 'europe-west4', project: 'my-project', google: { credentials_file: '/etc/service-account.json' } },
    ],
    tuned: ['vertex', 'endpoints/1234567890', { region: 'us-central1', project: 'my-project' }],
    opus: [
      'vertex',
      'claude-opus-4-1@20250805',
      { api_key: '{"type": "service_account", "private_key": "in-clear-0003"}' },
    ],
    gpt: [
      'azure-openai',
      'gpt-5-deployment',
      {
        entra: {
          tenant_id: 'value-of-AZURE_TENANT',
          client_id: 'some-application',
          client_secret: 'value-of-AZURE_SECRET',
        },
        base_url: 'https://team.openai.azure.com',
      },
    ],
    foundry: [
      'azure-openai',
      'DeepSeek-V3',
      { api_key: 'value-of-FOUNDRY', base_url: 'https://team.services.ai.azure.com/models' },
    ],
  });
  const told = lines(one).join('\n');
  assert.match(
    told,
    /^10 model_list\[0\]\.litellm_params\.aws_session_name: not carried over: Culvert names the session of an assumed role/m,
  );
  assert.match(told, /^29 model_list\[6\].*vertex_credentials: a secret in plain text/m);
  assert.match(told, /^31 model_list\[7\].*Culvert has no way to ask vertex_ai for openai\/99887766/m);
  assert.match(told, /model_list\[10\].*Culvert has no way to ask bedrock for agent\/ABC\/DEF/);
  assert.doesNotMatch(told, /in-clear-0003/);
});

test('a secret in clear is carried as it is, and no note repeats it', () => {
  const one = imported(fileOf('shapes'));
  const { providers } = loaded(one);
  assert.equal(providers.openai!.api_key, 'sk-in-clear-0002');
  // Not a variable of ours, whatever it looks like.
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the key
  assert.equal(providers['litellm-proxy']!.api_key, 'a${b}c');
  const told = lines(one).join('\n');
  assert.match(told, /api_key: a secret in plain text, carried over as it is; an environment variable is better/);
  for (const secret of ['sk-in-clear-0002', '{b}c', 'sk-1234']) assert.ok(!told.includes(secret), secret);
});

test('requests go where the new file says, with the keys and the models of the old one', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const one = imported(`
model_list:
  - { model_name: smart, litellm_params: { model: openai/mock/ok, api_base: "${upstream.url}/v1", api_key: os.environ/KEY_A } }
  - { model_name: house, litellm_params: { model: hosted_vllm/mock/status=500, api_base: "${upstream.url}/v1" } }
  - { model_name: "any/*", litellm_params: { model: "openai/mock/*", api_base: "${upstream.url}/v1", api_key: os.environ/KEY_A } }
router_settings: { num_retries: 1, fallbacks: [{ house: [smart] }] }`);
  const { providers, models } = JSON.parse(
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as the file has it
    JSON.stringify(one.config).replaceAll('${KEY_A}', 'key-a'),
  ) as Record<string, Record<string, unknown>>;
  const gateway = await startGateway(t, { providers, models });
  for (const [model, sent] of [
    ['smart', ['mock/ok']],
    ['any/ok', ['mock/ok']],
    ['house', ['mock/status=500', 'mock/ok']],
  ] as const) {
    upstream.clear();
    const json = { model, messages: [{ role: 'user', content: 'Hi' }] };
    const answer = await gateway.fetch('/v1/chat/completions', { json });
    assert.equal(answer.status, 200, await answer.text());
    const chats = upstream.requests().filter(({ path }) => path === '/v1/chat/completions');
    assert.deepEqual(
      chats.map(({ body }) => (body as { model: string }).model),
      sent,
    );
    assert.equal(chats.at(-1)!.headers.authorization, 'Bearer key-a');
  }
});

describe('culvert import litellm, run as a program', { concurrency: true }, () => {
  const folderWith = (t: TestContext, text: string) => {
    const cwd = temporaryFolder(t);
    writeFileSync(join(cwd, 'litellm.yaml'), text);
    return cwd;
  };
  const run = (cwd: string, ...more: string[]) => runCommand(['import', 'litellm', 'litellm.yaml', ...more], { cwd });

  test('writes a file that culvert check takes, and says what to set and what is left out', async (t) => {
    const cwd = folderWith(t, fileOf('shapes'));
    const { code, stdout, stderr } = await run(cwd);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^Wrote culvert\.yaml: providers \d, models 8, notes \d+\.$/m);
    assert.match(stderr, /^litellm\.yaml:\d+ model_list\[11\]\.litellm_params/m);
    assert.match(stderr, /the start needs them: .*OPENAI|the start needs them: COHERE_API_KEY/);
    assert.ok(!stderr.includes('sk-in-clear-0002'));
    assert.equal(statSync(join(cwd, 'culvert.yaml')).mode & 0o077, 0);
    const names = [...imported(fileOf('shapes')).variables.keys()];
    const env = Object.fromEntries(names.map((name) => [name, 'some-value']));
    const checked = await runCommand(['check'], { cwd, env });
    assert.equal(checked.code, 0, checked.stderr);
  });

  test('never writes over a file', async (t) => {
    const cwd = folderWith(t, fileOf('team'));
    writeFileSync(join(cwd, 'culvert.yaml'), 'mine');
    const { code, stderr } = await run(cwd);
    assert.equal(code, 1);
    assert.match(stderr, /culvert\.yaml already exists and was left as it is\. Name another file with --output/);
    assert.equal(readFileSync(join(cwd, 'culvert.yaml'), 'utf8'), 'mine');
  });

  test('--output - prints the file, --json what happened', async (t) => {
    const cwd = folderWith(t, fileOf('team'));
    const printed = await run(cwd, '--output', '-');
    assert.equal(printed.code, 0, printed.stderr);
    assert.equal(printed.stdout, importedText(team, 'litellm.yaml', 'litellm'));
    assert.ok(!existsSync(join(cwd, 'culvert.yaml')));
    const { stdout } = await run(cwd, '--output', 'other.yaml', '--json');
    const report = JSON.parse(stdout) as { file: string; environment: string[]; notes: unknown[]; models: number };
    assert.deepEqual([report.file, report.models, report.notes.length], ['other.yaml', 8, team.notes.length]);
    assert.ok(report.environment.includes('AZURE_EU_KEY'));
  });

  test('a file that is none is told in a sentence, and nothing is written', async (t) => {
    for (const [text, why] of [
      ['general_settings: {}', /has no model_list/],
      ['- a\n- b', /is not a mapping/],
      ['model_list: [', /is not valid YAML at 1:\d+/],
      ['model_list: [{ model_name: a, litellm_params: { model: petals/x } }]', /none of its models.*line 1.*petals/],
    ] as const) {
      const cwd = folderWith(t, text);
      const { code, stderr } = await run(cwd);
      assert.equal(code, 1, stderr);
      assert.match(stderr, why);
      assert.ok(!existsSync(join(cwd, 'culvert.yaml')));
    }
  });
});

test('the cache, guardrails and prompts become those of models, of the server and of the file', () => {
  const one = imported(fileOf('guards'));
  const { models, guards, prompts, server } = loaded(one, { PRESIDIO_ANALYZER_API_BASE: 'http://presidio:3000' });
  assert.equal(models.smart!.cache!.ttl, 600_000);
  assert.equal(models.smart!.cache!.scope, 'key');
  assert.equal(models.vectors!.cache, undefined, 'its calls were not cached');
  const { aws, attacks, harm, words, ...local } = guards;
  assert.deepEqual(
    [aws!.check, aws!.action, aws!.on, aws!.guardrail, aws!.region, aws!.aws?.role_arn],
    [
      'bedrock-guardrails',
      'mask',
      ['input'],
      { id: 'ff6ujrregl1q', version: '3' },
      'eu-central-1',
      'arn:aws:iam::123456789012:role/guard',
    ],
  );
  assert.deepEqual(
    [attacks!.check, attacks!.action, attacks!.api_key, attacks!.project],
    ['lakera', 'flag', 'value-of-LAKERA_API_KEY', 'p1'],
  );
  assert.deepEqual(
    [harm!.check, harm!.api_key, harm!.url, harm!.threshold, harm!.on_error],
    ['azure-content-safety', 'value-of-AZURE_GUARD_KEY', 'https://acme.cognitiveservices.azure.com', 2, 'allow'],
  );
  assert.deepEqual(
    [words!.check, words!.api_key, words!.on],
    ['openai-moderation', 'value-of-OPENAI_API_KEY', ['output']],
  );
  const of = (name: string) => {
    const { check, action, on, kinds, categories, patterns, words } = guards[name]!;
    return [check, action, on.join(' '), kinds ?? categories ?? patterns ?? words];
  };
  assert.deepEqual(Object.keys(local).map(of), [
    ['personal-data', 'mask', 'input', ['email']],
    ['presidio', 'mask', 'input', ['PERSON']],
    ['personal-data', 'block', 'input', ['card', 'national-id']],
    ['secrets', 'mask', 'input output', undefined],
    ['personal-data', 'mask', 'output', ['national-id']],
    ['patterns', 'block', 'output', ['TICKET-\\d{4,8}']],
    ['words', 'block', 'output', ['Project Falcon']],
  ]);
  assert.deepEqual(server.guards, ['pii-guard', 'pii-guard-mask', 'pii-guard-block', 'attacks']);
  assert.deepEqual(Object.keys(prompts), ['hello']);
  const { model, messages, variables, parameters } = prompts.hello!;
  assert.deepEqual([model, parameters], ['smart', { temperature: 0.3 }]);
  assert.deepEqual(variables, { tone: { type: 'string' }, times: { type: 'number' } });
  assert.deepEqual(messages, [
    { role: 'system', content: 'Be {{tone}}, and say it {{times}} times.' },
    { role: 'user', content: 'Hello.' },
  ]);
  const told = lines(one).join('\n');
  for (const wanted of [
    /cache_params\.type: carried over as a cache of identical requests only/,
    /cache_params\.similarity_threshold: not carried over/,
    /guardrails\[1\]\.litellm_params\.default_on: callers cannot turn a guard on here: name keys in guards/,
    /patterns\[2\]\.pattern: not carried over: \+ has no bound/,
    /guardrails\[3\]\.litellm_params\.guardrail: not carried over: there is no check aporia/,
    /guardrails\[8\]\.litellm_params\.guardrail: not carried over: the check azure-content-safety needs url/,
    /prompts\[1\]: not carried over: its text is not in this file, but at langfuse/,
    /prompts\[2\]: not carried over: its text has more than/,
  ]) {
    assert.match(told, wanted);
  }
});

test('every fallback is within the attempts, however few retries LiteLLM made', () => {
  const at = (alias: string, port: number) => entryOf(alias, { api_base: `http://10.0.0.1:${port}/v1` });
  const list = [at('a', 1), at('a', 2), at('b', 3), at('c', 4), ...[5, 6, 7, 8, 9].map((port) => at('many', port))];
  const fallbacks = [{ a: ['b', 'c'] }, { many: ['a'] }, { b: ['c'] }];
  const attempts = (settings: object) => {
    const { models } = loaded(
      imported(JSON.stringify({ model_list: list, router_settings: { fallbacks, ...settings } })),
    );
    return Object.fromEntries(Object.entries(models).map(([alias, model]) => [alias, model.attempts]));
  };
  assert.deepEqual(attempts({ num_retries: 0 }), { a: 4, b: 2, c: 1, many: 7 });
  assert.deepEqual(attempts({ num_retries: 5 }), { a: 6, b: 6, c: 6, many: 7 });
  assert.deepEqual(attempts({}), { a: 4, b: 4, c: 4, many: 7 });
});

test('a model of one team is left out, and no note calls a tag or a limit a default of requests', () => {
  const own = entryOf('theirs', { info: { team_id: 't-1' } });
  const tagged = entryOf('ours', { tags: ['paid'], max_parallel_requests: 3, mock_response: 'hi', max_budget: 1 });
  const one = imported(JSON.stringify({ model_list: [own, tagged] }));
  assert.deepEqual(Object.keys(loaded(one).models), ['ours']);
  const told = lines(one).join('\n');
  for (const wanted of [
    /model_info\.team_id: this model is not carried over: it is of one team alone/,
    /tags: not carried over: every caller gets this target; routes\.NAME\.when/,
    /max_parallel_requests: not carried over: a target has no limit/,
    /mock_response: not carried over: requests are sent to the provider/,
    /max_budget: not carried over: budgets belong to/,
  ]) {
    assert.match(told, wanted);
  }
});

test('MCP servers keep their address, program, headers and tools; what they cannot keep is noted', () => {
  const one = imported(
    JSON.stringify({
      model_list: [entryOf('a', {})],
      mcp_servers: {
        deep_wiki: {
          url: 'https://wiki.example/mcp',
          transport: 'http',
          description: 'Wikis',
          allowed_tools: ['read'],
        },
        git: {
          ...{ url: 'os.environ/GIT_MCP', auth_type: 'bearer_token', auth_value: 'os.environ/GIT_TOKEN' },
          ...{ static_headers: { 'X-Team': 'os.environ/TEAM', 'X-Env': 'prod' }, timeout: 30, access_groups: ['dev'] },
        },
        files: { transport: 'stdio', command: 'npx', args: ['-y', 'files'], env: { ROOT: '/srv' }, alias: 'fs' },
        keyed: { url: 'https://k.example/mcp', auth_type: 'api_key', authentication_token: 'k-1' },
        old: { url: 'https://old.example/sse', transport: 'sse' },
        login: {
          url: 'https://login.example/mcp',
          auth_type: 'oauth2',
          client_id: 'c',
          token_url: 'https://login.example/t',
        },
        basic: { url: 'https://b.example/mcp', auth_type: 'basic', auth_value: 'u:p' },
        none: {},
        'deep-wiki': { url: 'https://second.example/mcp' },
        日本: { url: 'https://third.example/mcp' },
        text: 'https://fourth.example',
      },
    }),
  );
  const environment = { GIT_MCP: 'https://git.example/mcp', GIT_TOKEN: 'g-1', TEAM: 'core' };
  const { servers } = loaded(one, environment).mcp;
  assert.deepEqual(Object.keys(servers), ['deep-wiki', 'git', 'fs', 'keyed', 'login', 'basic']);
  assert.deepEqual(servers['deep-wiki']!.tools, { allow: ['read'], deny: [] });
  const { url, headers, timeout } = servers.git!;
  assert.deepEqual(
    [url, headers, timeout],
    ['https://git.example/mcp', { 'X-Team': 'core', 'X-Env': 'prod', Authorization: 'Bearer g-1' }, 30_000],
  );
  const { command, args, env } = servers.fs!;
  assert.deepEqual([command, args, env], ['npx', ['-y', 'files'], { ROOT: '/srv' }]);
  assert.deepEqual(servers.keyed!.headers, { 'X-API-Key': 'k-1' });
  const notes = lines(one).join('\n');
  for (const note of [
    /mcp_servers\.deep_wiki: its tools are deep-wiki__TOOL here, where LiteLLM has deep_wiki-TOOL/,
    /mcp_servers\.git\.access_groups: not carried over: limits\.mcp/,
    /mcp_servers\.keyed\.authentication_token: a secret in plain text/,
    /mcp_servers\.old\.transport: not carried over: it speaks SSE/,
    /mcp_servers\.login\.auth_type: not carried over: write mcp\.servers\.NAME\.oauth/,
    /mcp_servers\.basic\.auth_type: not carried over: write the header/,
    /mcp_servers\.none: not carried over: it has neither/,
    /mcp_servers\.deep-wiki: not carried over: a server needs a name of small letters/,
    /mcp_servers\.日本: not carried over/,
    /mcp_servers\.text: not carried over/,
  ])
    assert.match(notes, note);
});

test('Presidio goes on finding what no check here finds, and texts are not masked for a log that has none', () => {
  const guardrail = (guardrail_name: string, params: object) => ({
    guardrail_name,
    litellm_params: { guardrail: 'presidio', mode: 'pre_call', ...params },
  });
  const one = imported(
    JSON.stringify({
      model_list: [entryOf('a', {})],
      guardrails: [
        guardrail('all', { presidio_analyzer_api_base: 'http://10.0.0.2:5002' }),
        guardrail('some', { pii_entities_config: { PERSON: 'BLOCK', EMAIL_ADDRESS: 'MASK', LOCATION: 'BLOCK' } }),
        guardrail('logs', { mode: 'logging_only' }),
      ],
    }),
  );
  const { guards } = loaded(one, { PRESIDIO_ANALYZER_API_BASE: 'http://10.0.0.3:5002' });
  assert.deepEqual(
    Object.entries(guards).map(([name, { check, action, url, kinds, categories }]) => [
      name,
      check,
      action,
      url ?? kinds,
      categories,
    ]),
    [
      ['all', 'presidio', 'mask', 'http://10.0.0.2:5002', undefined],
      ['some', 'personal-data', 'mask', ['email'], undefined],
      ['some-block', 'presidio', 'block', 'http://10.0.0.3:5002', ['PERSON', 'LOCATION']],
    ],
  );
  assert.match(lines(one).join('\n'), /guardrails\[2\]\.litellm_params\.mode: not carried over: Culvert logs no texts/);
});
