import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startQuietUpstream } from './quiet-upstream.ts';
import { quietIn, quietOut, shoutStep } from './shout-step.ts';
import { textsOf } from './texts-of.ts';

const upstream = await startQuietUpstream();
after(upstream.close);
const step = shoutStep();
const provider = { base_url: `${upstream.url}/v1`, api_key: 'k' };
const target = (provider: string) => ({ targets: [{ provider, model: 'm' }] });
const gateway = await startGateway(
  { after } as TestContext,
  {
    providers: { openai: { type: 'openai', ...provider }, anthropic: { type: 'anthropic', ...provider } },
    models: { openai: target('openai'), anthropic: target('anthropic') },
  },
  { steps: [{ step, on: 'server' }] },
);

const word = `hush ${quietIn} now`;
const args = { to: quietIn };
const large = 'x'.repeat(1_200_000);
const schema = { type: 'object', properties: { to: { type: 'string', description: word } } };

const formats: Record<string, { path(stream: boolean): string; body(text: string): object }> = {
  chat: {
    path: () => '/v1/chat/completions',
    body: (text) => ({
      messages: [
        { role: 'system', content: word },
        { role: 'user', content: [{ type: 'text', text: word + text }] },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 't', type: 'function', function: { name: 'f', arguments: JSON.stringify(args) } }],
        },
        { role: 'tool', tool_call_id: 't', content: word },
      ],
      tools: [{ type: 'function', function: { name: 'f', description: word, parameters: schema } }],
    }),
  },
  messages: {
    path: () => '/v1/messages',
    body: (text) => ({
      max_tokens: 100,
      system: word,
      messages: [
        { role: 'user', content: word + text },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: args }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: word }] },
      ],
      tools: [{ name: 'f', description: word, input_schema: schema }],
    }),
  },
  responses: {
    path: () => '/v1/responses',
    body: (text) => ({
      instructions: word,
      input: [
        { role: 'user', content: [{ type: 'input_text', text: word + text }] },
        { type: 'function_call', call_id: 't', name: 'f', arguments: JSON.stringify(args) },
        { type: 'function_call_output', call_id: 't', output: word },
      ],
      tools: [{ type: 'function', name: 'f', description: word, parameters: schema }],
    }),
  },
  gemini: {
    path: (stream) => `/v1beta/models/MODEL:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: (text) => ({
      systemInstruction: { parts: [{ text: word }] },
      contents: [
        { role: 'user', parts: [{ text: word + text }] },
        { role: 'model', parts: [{ functionCall: { name: 'f', args } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'f', response: { result: word } } }] },
      ],
      tools: [{ functionDeclarations: [{ name: 'f', description: word, parametersJsonSchema: schema }] }],
    }),
  },
};

for (const [format, { path, body }] of Object.entries(formats)) {
  for (const model of ['openai', 'anthropic']) {
    for (const stream of [false, true]) {
      for (const size of ['small', 'large']) {
        const name = `${format}, asked of ${model}, ${stream ? 'streamed' : 'whole'}, ${size} body`;
        test(`a step changes all texts of request and answer: ${name}`, async () => {
          upstream.bodies.length = 0;
          const isGemini = format === 'gemini';
          const json = { ...body(size === 'large' ? large : ''), ...(!isGemini && { model, stream }) };
          const response = await gateway.fetch(path(stream).replace('MODEL', model), { json });
          const answer = await response.text();
          assert.equal(response.status, 200, answer);
          assert.equal(upstream.bodies.length, 1);
          const sent = upstream.bodies[0]!;
          assert.ok(!sent.includes(quietIn), sent.slice(0, 2_000));
          assert.ok(sent.split('LOUDIN').length - 1 >= 6, sent.slice(0, 2_000));
          const shown = textsOf(answer, stream);
          assert.ok(!shown.includes(quietOut) && shown.includes('LOUDOUT'), answer);
        });
      }
    }
  }
}
