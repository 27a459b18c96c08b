import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* One generation of Claude answers 400 to how another is told to think: behind an alias, and in a fallback, no body suits both. */

const t = { after: after as never };
const upstream = await startUpstream();
after(() => upstream.close());
const gateway = await startGateway(t, {
  providers: { claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'a' } },
  models: {
    old: { targets: ['claude/claude-sonnet-4-5'] },
    older: { targets: ['claude/claude-3-5-haiku-20241022'] },
    both: { targets: ['claude/claude-sonnet-4-6'] },
    new: { targets: ['claude/claude-opus-5'] },
    smart: {
      targets: [
        { provider: 'claude', model: 'claude-opus-5' },
        { provider: 'claude', model: 'claude-haiku-4-5', priority: 2 },
      ],
    },
    'claude-*': { targets: ['claude/claude-*'] },
  },
});

const hi = [{ role: 'user', content: 'hi' }];
const adaptive = {
  max_tokens: 32_000,
  thinking: { type: 'adaptive', display: 'omitted' },
  output_config: { effort: 'medium' },
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  messages: hi,
};

/** What reached the model, and what the caller reads of the difference. */
async function sent(body: JsonObject): Promise<{ body: JsonObject; lost: string | null }> {
  const response = await gateway.fetch('/v1/messages', { json: body });
  assert.equal(response.status, 200, await response.text());
  const { model: _, ...rest } = upstream.requests().at(-1)!.body as JsonObject;
  return { body: rest, lost: response.headers.get('x-culvert-dropped') };
}

test('a model that knows budgets alone gets one in place of adaptive thinking and of an effort', async () => {
  const { output_config: _, ...kept } = adaptive;
  const thinking = { type: 'enabled', budget_tokens: 8_192 };
  assert.deepEqual(await sent({ model: 'old', ...adaptive }), {
    body: { ...kept, thinking },
    lost: 'output_config.effort, thinking',
  });
  const format = { type: 'json_schema', schema: { type: 'object' } };
  const { body } = await sent({ model: 'old', ...adaptive, output_config: { effort: 'low', format } });
  assert.deepEqual([body.output_config, body.thinking], [{ format }, { type: 'enabled', budget_tokens: 2_048 }]);
});

test('it does not think where it may not: in the middle of calls, before a call that must be made, or never', async () => {
  const calls = [
    ...hi,
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] },
  ];
  const tools = [{ name: 'f', input_schema: { type: 'object' } }];
  for (const body of [
    { ...adaptive, model: 'old', messages: calls, tools },
    { ...adaptive, model: 'old', tools, tool_choice: { type: 'any' } },
    { ...adaptive, model: 'older' },
  ]) {
    const { body: reached } = await sent(body);
    assert.deepEqual([reached.thinking, reached.context_management], [{ type: 'disabled' }, { edits: [] }]);
  }
});

test('a model with a budget does not think behind calls that another one made without a thought', async () => {
  const messages = [
    ...hi,
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] },
  ];
  const thinking = { type: 'enabled', budget_tokens: 2_000 };
  const asked = {
    model: 'claude-sonnet-4-5',
    max_tokens: 9_000,
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
  };
  const behind = await sent({ ...asked, thinking, messages });
  assert.deepEqual([behind.body.thinking, behind.lost], [{ type: 'disabled' }, 'thinking']);
  const [first, turn, ...rest] = messages;
  const thought = { type: 'thinking', thinking: 'Hm.', signature: 'EqoBsigned==' };
  const begun = [first, { ...turn, content: [thought, ...(turn!.content as object[])] }, ...rest];
  assert.deepEqual((await sent({ ...asked, thinking, messages: begun } as JsonObject)).body.thinking, thinking);
});

test('a model that knows no budgets thinks as hard as the budget says, and takes no sampling', async () => {
  const thinking = { type: 'enabled', budget_tokens: 20_000 };
  const body = { max_tokens: 32_000, messages: hi, thinking, temperature: 1, top_k: 5 };
  assert.deepEqual(await sent({ model: 'new', ...body }), {
    body: {
      ...{ max_tokens: 32_000, messages: hi, thinking: { type: 'adaptive', display: 'summarized' } },
      output_config: { effort: 'high' },
    },
    lost: 'temperature, top_k, thinking.budget_tokens',
  });
  const both = await sent({ model: 'old', ...body, temperature: 0.5, top_p: 0.5 });
  assert.deepEqual([both.body.temperature, both.body.top_p, both.lost], [0.5, undefined, 'top_p']);
});

test('what a model takes stays, and who names the model itself is judged by Anthropic', async () => {
  for (const model of ['both', 'new'])
    assert.deepEqual(await sent({ model, ...adaptive }), { body: adaptive, lost: null });
  const own = await sent({ model: 'claude-sonnet-4-5', ...adaptive, temperature: 0.5, top_p: 0.5 });
  assert.deepEqual(own, { body: { ...adaptive, temperature: 0.5, top_p: 0.5 }, lost: null });
});

test('a fallback of another generation answers', async () => {
  upstream.script('/v1/messages', ['status=529']);
  const { body } = await sent({ model: 'smart', ...adaptive });
  assert.deepEqual(body.thinking, { type: 'enabled', budget_tokens: 8_192 });
});
