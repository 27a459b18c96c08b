import assert from 'node:assert/strict';
import { test } from 'node:test';
import { models, openThreeProviders } from './three-providers.ts';

const { gateway } = await openThreeProviders({ served: { targets: ['cerebras/gpt-oss-120b'] } }, (url) => ({
  cerebras: { type: 'cerebras', base_url: `${url}/v1`, api_key: 'd' },
}));

interface Chunk {
  system_fingerprint: unknown;
  choices: { delta: { content?: string; reasoning?: string; tool_calls?: object[] }; finish_reason: string | null }[];
  usage?: { total_tokens: number };
}

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = [{ type: 'function', function: { name: 'weather', parameters } }];

async function streamed(agent: string, model: string, content: string): Promise<Chunk[]> {
  const answer = await gateway.fetch('/v1/chat/completions', {
    json: { model, stream: true, tools, reasoning_effort: 'low', messages: [{ role: 'user', content }] },
    headers: { 'user-agent': agent },
  });
  const frames = (await answer.text()).trimEnd().split('\n\n');
  assert.equal(frames.pop(), 'data: [DONE]');
  return frames.map((frame) => JSON.parse(frame.slice('data: '.length)));
}

/** Headers of Cerebras's SDKs and of the AI SDK's provider. The SDK for Python takes each chunk for a whole answer if its model of a chunk does not fit. */
const agents = [
  'Cerebras/Python 1.91.0',
  'AsyncCerebras/Python 1.91.0',
  'Cerebras/JS 1.91.0',
  'ai-sdk-cerebras/3.0.59',
];

for (const alias of Object.keys(models)) {
  test(`Cerebras's SDKs read streams of the provider ${alias}: each chunk has what they demand`, async () => {
    for (const agent of agents) {
      const chunks = await streamed(agent, alias, 'Hello');
      assert.ok(chunks.every((chunk) => typeof chunk.system_fingerprint === 'string' && chunk.choices.length === 1));
      assert.ok(chunks.some(({ choices: [choice] }) => choice!.delta.content === ' Hello'));
      assert.ok(chunks.some(({ choices: [choice] }) => choice!.delta.reasoning?.startsWith('The user')));
      assert.equal(chunks.at(-1)!.choices[0]!.finish_reason, 'stop');
      assert.ok(chunks.at(-1)!.usage!.total_tokens > 0);

      const calls = (await streamed(agent, alias, 'call weather')).flatMap(
        ({ choices: [choice] }) => choice!.delta.tool_calls ?? [],
      );
      assert.equal(calls.length, 1);
      const [call] = calls as [{ id: string; type: string; function: object }];
      assert.match(call.id, /^\S+$/);
      assert.equal(call.type, 'function');
      assert.deepEqual(call.function, { name: 'weather', arguments: '{"city":"mock"}' });
    }
  });
}

test("streams of Cerebras reach its SDKs as they came, and other clients get OpenAI's chunks", async () => {
  for (const chunk of await streamed(agents[0]!, 'served', 'Hello'))
    assert.equal(chunk.system_fingerprint, 'fp_simulator');
  for (const chunk of await streamed('OpenAI/JS 7.55.0', 'claude', 'Hello'))
    assert.equal(chunk.system_fingerprint, undefined);
});
