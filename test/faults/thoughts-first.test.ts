import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import type { JsonObject } from '../../src/kernel/json.ts';
import { callerFormats } from '../contract/dialect-matrix/rig.ts';
import { serverEvents } from '../contract/dialect-matrix/server-events.ts';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

const thought = 'Let me think.';
const detail = (more: object) => [{ type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0, ...more }];

/** How services of OpenAI's format give a thought, in a message as in a delta. */
const spellings = {
  'reasoning_content (DeepSeek, Z.AI)': (text: string) => ({ reasoning_content: text }),
  'reasoning (Groq, Ollama, Cerebras)': (text: string) => ({ reasoning: text }),
  'both (vLLM)': (text: string) => ({ reasoning: text, reasoning_content: text }),
  'reasoning_details alone (Snowflake)': (text: string) => ({ reasoning_details: detail({ text }) }),
  'reasoning_details beside it (OpenRouter)': (text: string) => ({
    reasoning: text,
    reasoning_details: detail({ text }),
  }),
  'a summary, and what is encrypted (OpenRouter)': (text: string) => ({
    reasoning: null,
    reasoning_details: [
      { type: 'reasoning.summary', summary: text, format: 'openai-responses-v1', index: 0 },
      { type: 'reasoning.encrypted', data: 'gAAAA', format: 'openai-responses-v1', index: 0 },
    ],
  }),
  'parts of the content (Mistral)': (text: string) => ({
    content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }],
  }),
};
const kinds = Object.entries(spellings);

const head = { id: 'c', created: 1, model: 'm' };
const usage = { prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 };

function answerOf(spell: (text: string) => JsonObject, streams: boolean): string {
  if (!streams) {
    const spelt = spell(thought);
    const said = Array.isArray(spelt.content) ? [...spelt.content, { type: 'text', text: 'Yes.' }] : 'Yes.';
    const message = { role: 'assistant', ...spelt, content: said };
    return JSON.stringify({
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage,
    });
  }
  const deltas = [
    { role: 'assistant', content: '' },
    spell('Let me '),
    spell('think.'),
    { content: 'Ye' },
    { content: 's.' },
  ];
  const chunk = (members: object) =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...members })}\n\n`;
  const said = deltas.map((delta) => chunk({ choices: [{ index: 0, delta, finish_reason: null }] })).join('');
  const end = chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }) + chunk({ choices: [], usage });
  return `${said}${end}data: [DONE]\n\n`;
}

test('reasoning of services of OpenAI’s format is a thinking block before the text, whole and streamed', async (t) => {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
    });
    request.on('end', () => {
      const kind = kinds[Number(/^\/kind-(\d+)/.exec(request.url!)?.[1])];
      if (kind === undefined || request.method !== 'POST') return response.writeHead(404).end();
      const streams = /"stream":\s*true/.test(body);
      response
        .writeHead(200, { 'content-type': streams ? 'text/event-stream' : 'application/json' })
        .end(answerOf(kind[1], streams));
    });
  });
  const url = await listening(t, server);
  const target = (at: number) => ({ provider: `kind-${at}`, model: 'm' });
  const gateway = await startGateway(t, {
    providers: Object.fromEntries(
      kinds.map((_, at) => [`kind-${at}`, { type: 'openai', base_url: `${url}/kind-${at}/v1`, api_key: 'x' }]),
    ),
    models: Object.fromEntries(
      kinds.flatMap((_, at) => [
        [`asked-streamed-${at}`, { targets: [target(at)] }],
        [`asked-whole-${at}`, { targets: [{ ...target(at), stream: false }] }],
      ]),
    ),
  });
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
  const asks = { max_tokens: 2_048, messages: [{ role: 'user' as const, content: 'Is it?' }] };
  const thinking = { type: 'enabled' as const, budget_tokens: 1_024 };
  const shown = ({ content }: Anthropic.Message) =>
    content.map((block) =>
      block.type === 'thinking' ? [block.type, block.thinking] : [block.type, (block as { text: string }).text],
    );
  for (const [at, [name]] of kinds.entries()) {
    for (const asked of ['asked-streamed', 'asked-whole']) {
      const model = `${asked}-${at}`;
      const expected = [
        ['thinking', thought],
        ['text', 'Yes.'],
      ];
      assert.deepEqual(
        shown(await anthropic.messages.create({ ...asks, model, thinking })),
        expected,
        `${name}, ${asked}`,
      );
      const streamed = await anthropic.messages.stream({ ...asks, model, thinking }).finalMessage();
      assert.deepEqual(shown(streamed), expected, `${name}, ${asked}, streamed`);
      assert.deepEqual(
        shown(await anthropic.messages.create({ ...asks, model })),
        [['text', 'Yes.']],
        `${name}, unasked`,
      );
      for (const caller of ['openai-responses', 'gemini'] as const) {
        const format = callerFormats[caller];
        for (const delivery of ['whole', 'stream'] as const) {
          const json = format.body(model, { say: 'Is it?', think: true }, delivery);
          const said = await (await gateway.fetch(format.path(model, delivery), { json })).text();
          const read =
            delivery === 'whole'
              ? format.whole(JSON.parse(said) as JsonObject)
              : format.stream(serverEvents(said)).seen;
          assert.deepEqual(
            [read!.thinking, read!.text, read!.order],
            [thought, 'Yes.', ['thinking', 'text']],
            `${name}, ${caller}`,
          );
        }
      }
    }
  }
});
