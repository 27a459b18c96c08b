import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { type Content, GoogleGenAI, type Part } from '@google/genai';
import OpenAI from 'openai';
import type { ResponseInput } from 'openai/resources/responses/responses';
import type { JsonObject } from '../../src/kernel/json.ts';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

/* Claude encrypts some thoughts, and refuses a turn of tools that comes back without them. */

const redacted = { type: 'redacted_thinking', data: 'RW5jcnlwdGVk' };
const blocks = [redacted, { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }];
let sent: JsonObject = {};
const claude = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  sent = JSON.parse(body || '{}') as JsonObject;
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', usage: { input_tokens: 3 } };
  const usage = { output_tokens: 4 };
  const events = [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    ...blocks.flatMap((content_block, index) => [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage },
    { type: 'message_stop' },
  ];
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
});
const t = { after: after as TestContext['after'] };
const base_url = `${await listening(t, claude)}/v1`;
const gateway = await startGateway(t, {
  providers: { claude: { type: 'anthropic', base_url, api_key: 'k' } },
  models: { m: { targets: ['claude/claude-sonnet-4-5'] } },
});

/** Claude's turn as it came back to it. */
const returned = () => (sent.messages as { content: unknown }[])[1]?.content;

for (const streamed of [false, true]) {
  test(`an encrypted thought goes round by Google's format, ${streamed ? 'streamed' : 'whole'}`, async () => {
    const google = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.url } });
    const config = {
      thinkingConfig: { includeThoughts: true, thinkingBudget: 2_000 },
      maxOutputTokens: 4_000,
      tools: [{ functionDeclarations: [{ name: 'f' }] }],
    };
    const question: Content = { role: 'user', parts: [{ text: 'Call f.' }] };
    const ask = async (contents: Content[]) => {
      const request = { model: 'm', contents, config };
      if (!streamed) return (await google.models.generateContent(request)).candidates![0]!.content!.parts!;
      const parts: Part[] = [];
      for await (const { candidates } of await google.models.generateContentStream(request))
        parts.push(...(candidates?.[0]?.content?.parts ?? []));
      return parts;
    };
    const parts = await ask([question]);
    assert.ok(!JSON.stringify(parts).includes(redacted.data));
    const response = { id: 'toolu_1', name: 'f', response: { output: 'fine' } };
    await ask([question, { role: 'model', parts }, { role: 'user', parts: [{ functionResponse: response }] }]);
    assert.deepEqual(returned(), blocks);
  });
}

test('an encrypted thought goes round by chat completions and by responses', async () => {
  const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  const question = { role: 'user' as const, content: 'Call f.' };
  const chat = { model: 'm', reasoning_effort: 'low' as const };
  const tools = [{ type: 'function' as const, function: { name: 'f' } }];
  const { choices } = await openai.chat.completions.create({ ...chat, messages: [question], tools });
  const result = { role: 'tool' as const, tool_call_id: 'toolu_1', content: 'fine' };
  await openai.chat.completions.create({ ...chat, messages: [question, choices[0]!.message, result], tools });
  assert.deepEqual(returned(), blocks);

  const order = { model: 'm', store: false, reasoning: { effort: 'low' as const } };
  const functions = [{ type: 'function' as const, name: 'f', strict: null, parameters: null }];
  const { output } = await openai.responses.create({ ...order, input: [question], tools: functions });
  const followed = [question, ...output, { type: 'function_call_output', call_id: 'toolu_1', output: 'fine' }];
  await openai.responses.create({ ...order, input: followed as ResponseInput, tools: functions });
  assert.deepEqual(returned(), blocks);
});
