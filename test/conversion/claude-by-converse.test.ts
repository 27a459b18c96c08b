import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sent, type Target } from './sent.ts';

const claude = (model: string): Target => ({ provider: 'bedrock', dialect: 'bedrock-converse', model });
const bash = { type: 'function', function: { name: 'bash', parameters: { type: 'object' } } };
const go = { role: 'user', content: 'Go' };
const call = { id: 'a', type: 'function', function: { name: 'bash', arguments: '{}' } };
const loop = [
  go,
  { role: 'assistant', content: null, tool_calls: [call] },
  { role: 'tool', tool_call_id: 'a', content: 'one' },
];

for (const [model, inLoop] of [
  ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', false],
  ['us.anthropic.claude-opus-4-7-v1:0', true],
] as const) {
  test(`${model} by Converse does not think before a call that it must make${inLoop ? '' : ', nor in a turn that began without a thought'}`, async () => {
    const thinks = async (more: object) => {
      const body = { model: 'chat', messages: [go], tools: [bash], reasoning_effort: 'high', ...more };
      const { bytes, lost } = (await sent('openai-chat', body, claude(model)))!;
      assert.equal(bytes.includes('thinking'), !lost.includes('reasoning_effort'));
      return bytes.includes('thinking');
    };
    assert.equal(await thinks({}), true);
    assert.equal(await thinks({ tool_choice: 'required' }), false);
    assert.equal(await thinks({ tool_choice: { type: 'function', function: { name: 'bash' } } }), false);
    assert.equal(await thinks({ messages: loop }), inLoop);
  });
}
