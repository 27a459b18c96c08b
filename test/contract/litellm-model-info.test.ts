import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';

interface Listed {
  data: { model_name: string; litellm_params: { model: string }; model_info: Record<string, unknown> }[];
}

const at = { base_url: 'http://127.0.0.1:9/v1', api_key: 'provider-secret' };
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: { openai: { type: 'openai', ...at }, claude: { type: 'anthropic', ...at } },
    models: {
      smart: {
        context_window: 200_000,
        max_output_tokens: 64_000,
        capabilities: { vision: true, tools: true, reasoning: false },
        targets: [
          {
            provider: 'claude',
            model: 'claude-sonnet-4-5',
            price: { input: 3, output: 15, cached_input: 0.3, cache_write: 3.75 },
          },
        ],
      },
      words: { type: 'embedding', dimensions: 1_024, targets: ['openai/text-embedding-3-small'] },
      hidden: { targets: ['openai/gpt-5'] },
    },
    plans: { some: { models: ['smart', 'words'] } },
    accounts: { dev: { plan: 'some' } },
    keys: [{ key: 'sk-cv-of-the-plan-0123456789', account: 'dev', name: 'laptop' }],
  },
);

for (const path of ['/v1/model/info', '/model/info']) {
  test(`LiteLLM's ${path} lists what the key may use, with limits and prices for one token`, async () => {
    const headers = { authorization: 'Bearer sk-cv-of-the-plan-0123456789' };
    const response = await fetch(gateway.url + path, { headers });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    const { data } = JSON.parse(text) as Listed;
    assert.deepEqual(data.map(({ model_name }) => model_name).sort(), ['smart', 'words']);
    const smart = data.find(({ model_name }) => model_name === 'smart')!;
    assert.equal(smart.litellm_params.model, 'claude/claude-sonnet-4-5');
    const { model_info: info } = smart;
    assert.deepEqual(
      [info.mode, info.max_input_tokens, info.max_output_tokens, info.max_tokens],
      ['chat', 200_000, 64_000, 64_000],
    );
    assert.deepEqual([info.input_cost_per_token, info.output_cost_per_token], [3e-6, 15e-6]);
    assert.deepEqual([info.cache_read_input_token_cost, info.cache_creation_input_token_cost], [3e-7, 3.75e-6]);
    assert.deepEqual(
      [info.supports_vision, info.supports_function_calling, info.supports_reasoning, info.supports_prompt_caching],
      [true, true, false, true],
    );
    const words = data.find(({ model_name }) => model_name === 'words')!.model_info;
    assert.deepEqual(
      [words.mode, words.output_vector_size, words.input_cost_per_token, words.supports_prompt_caching],
      ['embedding', 1_024, null, false],
    );
    assert.ok(!text.includes('provider-secret') && !text.includes('127.0.0.1'));
    assert.equal((await fetch(gateway.url + path)).status, 401);
  });
}
