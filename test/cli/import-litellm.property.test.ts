import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { importLiteLlm } from '../../src/cli/import/import-litellm.ts';
import { importedText } from '../../src/cli/import/write-imported.ts';
import { checkConfigText } from '../../src/config/check.ts';
import { formatProblem } from '../../src/config/problem.ts';

const names = ['a', 'b', 'c', 'a/*', '*', 'x-*', 'two *s*', '', '__proto__', 'constructor', 'é', 'n'.repeat(300)];
const models = [
  ...['gpt-4o', 'openai/gpt-4o', 'azure/d', 'anthropic/claude', 'openai/*', 'groq/*-x', 'bedrock/y', 'hosted_vllm/q'],
  ...['text-embedding-3-small', 'voyage/voyage-3', 'whisper-1', 'openai/a b', 'azure/', '/', 'toString/x', 'x'],
];
const odd = fc.constantFrom<unknown>(
  null,
  '',
  0,
  -1,
  1e300,
  Number.NaN,
  true,
  [],
  {},
  [1],
  { a: 1 },
  '${',
  `$${'{X}'}`,
  'é\n#',
);
const text = (...some: readonly string[]) => fc.oneof({ weight: 4, arbitrary: fc.constantFrom<unknown>(...some) }, odd);
const number = fc.oneof(fc.nat(2_000), fc.double({ min: 0, max: 1e9, noNaN: true }), odd);

const entry = fc.record(
  {
    model_name: text(...names),
    litellm_params: fc.oneof({ weight: 8, arbitrary: params() }, odd),
    model_info: fc.oneof(
      fc.record(
        {
          mode: text('chat', 'embedding', 'image_generation', 'nonsense'),
          max_tokens: number,
          max_input_tokens: number,
          output_vector_size: number,
          supports_vision: fc.oneof(fc.boolean(), odd),
          input_cost_per_token: number,
          base_model: text('m'),
        },
        { requiredKeys: [] },
      ),
      odd,
    ),
  },
  { requiredKeys: ['model_name', 'litellm_params'] },
);

function params() {
  return fc.record(
    {
      model: text(...models),
      api_key: text('os.environ/KEY', 'os.environ/no name', 'sk-x', `a$${'{b}'}`, '"quoted": #'),
      api_base: text('os.environ/BASE', 'http://h:1/v1/', 'ftp://h', 'https://u:p@h/v1?x=1#y', 'http://', 'h'),
      api_version: text('2024-01-01', 'with space'),
      extra_headers: fc.oneof(fc.dictionary(text('x-a', 'host', 'bad name', 'é').map(String), text('v', 'é\n')), odd),
      extra_body: fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), odd),
      rpm: number,
      weight: number,
      order: number,
      timeout: number,
      stream_timeout: number,
      custom_llm_provider: text('openai', 'groq', 'hasOwnProperty'),
      temperature: number,
    },
    { requiredKeys: ['model'] },
  );
}

const fallbacks = fc.oneof(fc.array(fc.dictionary(fc.constantFrom(...names), fc.array(text(...names)))), odd);
const cacheParams = fc.oneof(
  fc.record(
    {
      type: text('redis', 'redis-semantic'),
      ttl: number,
      supported_call_types: fc.array(text('acompletion')),
      host: odd,
    },
    { requiredKeys: [] },
  ),
  odd,
);
const guardrail = fc.record({
  guardrail_name: text('pii', 'constructor', 'é', 'x'.repeat(90)),
  litellm_params: fc.oneof(
    fc.record(
      {
        guardrail: text('presidio', 'hide-secrets', 'litellm_content_filter', 'aporia'),
        mode: fc.oneof(text('pre_call', 'post_call'), fc.array(text('during_call', 'logging_only'))),
        default_on: fc.oneof(fc.boolean(), odd),
        pii_entities_config: fc.oneof(fc.dictionary(text('US_SSN', 'EMAIL_ADDRESS').map(String), text('MASK')), odd),
        patterns: fc.oneof(
          fc.array(fc.record({ pattern: text('a{1,2}', '(', '${', 'a+'), pattern_name: text('us_ssn', 'toString') })),
          odd,
        ),
        blocked_words: fc.oneof(fc.array(fc.record({ keyword: text('w', '${', ' ', '-') })), odd),
      },
      { requiredKeys: [] },
    ),
    odd,
  ),
});
const prompt = fc.record({
  prompt_id: text('p', '__proto__', 'constructor', '9'),
  litellm_params: fc.oneof(
    fc.record({
      dotprompt_content: text(
        'User: hi {{name}}',
        '---\nmodel: smart\ntemperature: 9\ninput: { schema: { name: object } }\n---\nSystem: {{ name }} $' + '{x}',
        '---\nmax_tokens: 1.5\n---\nplain ${',
      ),
    }),
    odd,
  ),
});
const file = fc.record(
  {
    model_list: fc.oneof({ weight: 20, arbitrary: fc.array(entry, { maxLength: 8 }) }, odd),
    router_settings: fc.oneof(
      fc.record(
        {
          num_retries: number,
          timeout: number,
          fallbacks,
          default_fallbacks: fc.oneof(fc.array(text(...names)), odd),
          model_group_alias: fc.oneof(fc.dictionary(fc.constantFrom(...names), text(...names)), odd),
          allowed_fails: odd,
        },
        { requiredKeys: [] },
      ),
      odd,
    ),
    litellm_settings: fc.oneof(
      fc.record({ fallbacks, cache: odd, cache_params: cacheParams, anything: odd }, { requiredKeys: [] }),
      odd,
    ),
    guardrails: fc.oneof(fc.array(guardrail, { maxLength: 3 }), odd),
    prompts: fc.oneof(fc.array(prompt, { maxLength: 3 }), odd),
    general_settings: fc.oneof(
      fc.record({ master_key: text('sk-1234', 'os.environ/M', 'long-enough-for-a-key') }, { requiredKeys: [] }),
      odd,
    ),
  },
  { requiredKeys: ['model_list'] },
);

test('whatever a file of LiteLLM holds, the new one passes our own check, or a sentence says why there is none', () => {
  fc.assert(
    fc.property(file, (config) => {
      const result = importLiteLlm(stringify(config));
      if (!result.ok) return assert.ok(result.message.length > 5);
      const { imported } = result;
      const env = Object.fromEntries(
        [...imported.variables].map(([name, kind]) => [
          name,
          kind === 'url' ? 'https://h.example' : 'some-long-enough-value',
        ]),
      );
      const checked = checkConfigText(importedText(imported, 'c', 'litellm'), 'culvert.yaml', env);
      if (!checked.ok) assert.fail(checked.errors.map(formatProblem).join('\n'));
    }),
    { numRuns: 400 },
  );
});

test('text that is no such file at all is refused in a sentence', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.jsonValue().map((value) => stringify(value)),
      ),
      (text) => {
        const result = importLiteLlm(text);
        assert.ok(!result.ok && result.message.length > 5);
      },
    ),
    { numRuns: 200 },
  );
});
