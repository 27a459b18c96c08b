import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { callerIds, upstreamIds } from '../contract/dialect-matrix/formats.ts';
import { callerFormats } from '../contract/dialect-matrix/rig.ts';
import { upstreamFormats } from '../contract/dialect-matrix/upstreams.ts';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';
import { explained } from './read-answer.ts';

/** The same answer of each format, whole and streamed in the ways there are; "TOLD" stands for each count. */
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' };
const text = { type: 'output_text', text: 'Hello', annotations: [] };
const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [text] };
const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', output: [item], status: 'completed' };
const chatUsage = {
  prompt_tokens: 'TOLD',
  completion_tokens: 'TOLD',
  total_tokens: 'TOLD',
  completion_tokens_details: { reasoning_tokens: 'TOLD' },
};
const usage = { input_tokens: 'TOLD', output_tokens: 'TOLD' };
const usageMetadata = { promptTokenCount: 'TOLD', candidatesTokenCount: 'TOLD', totalTokenCount: 'TOLD' };
const candidates = [{ index: 0, content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }];
const chunk = (members: object) => ({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...members });
const choice = (delta: object, finish_reason: string | null) => ({ choices: [{ index: 0, delta, finish_reason }] });

const answers = {
  'openai-chat': {
    whole: {
      ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm', usage: chatUsage },
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
    },
    streams: [
      [
        chunk({ ...choice({ role: 'assistant', content: 'Hel' }, null), usage: chatUsage }),
        chunk(choice({ content: 'lo' }, null)),
        chunk(choice({}, 'stop')),
        chunk({ choices: [], usage: chatUsage }),
        '[DONE]',
      ],
      [
        chunk(choice({ role: 'assistant', content: 'Hello' }, null)),
        chunk({ ...choice({}, 'stop'), usage: chatUsage }),
        '[DONE]',
      ],
    ],
  },
  'anthropic-messages': {
    whole: { ...message, content: [{ type: 'text', text: 'Hello' }], stop_reason: 'end_turn', usage },
    streams: [
      [
        {
          type: 'message_start',
          message: { ...message, content: [], stop_reason: null, usage: { input_tokens: 3, output_tokens: 1 } },
        },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 'TOLD' } },
        { type: 'message_stop' },
      ],
    ],
  },
  'openai-responses': {
    whole: { ...response, usage: { ...usage, total_tokens: 'TOLD' } },
    streams: [
      [
        { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
        { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'Hello' },
        { type: 'response.completed', response: { ...response, usage: { ...usage, total_tokens: 'TOLD' } } },
      ],
    ],
  },
  gemini: {
    whole: { responseId: 'r', modelVersion: 'm', candidates, usageMetadata },
    streams: [[{ responseId: 'r', modelVersion: 'm', candidates, usageMetadata }]],
  },
} as const;

for (const format of upstreamIds) {
  test(`counts that cannot be, told in ${format}: neither callers of any format nor the books get them`, async (t) => {
    let told = '';
    let streamed = 0;
    const url = await telling(t, format, () => ({ told, streamed }));
    const { provider, model } = upstreamFormats[format];
    const gateway = await startGateway(t, {
      providers: { one: provider(url) },
      models: { chat: { targets: [{ provider: 'one', model, price: { input: 1, output: 1 } }] } },
    });
    const ways = callerIds.flatMap((id) => [
      { id, delivery: 'whole' as const, at: 0 },
      ...answers[format].streams.map((_, at) => ({ id, delivery: 'stream' as const, at })),
    ]);
    for (told of ['-5', '1e300', '2.5', '"7"', 'NaN', '-Infinity']) {
      for (const { id, delivery, at } of ways) {
        streamed = at;
        const caller = callerFormats[id];
        const json = caller.body('chat', { say: 'Hello', maxTokens: 64, usage: true }, delivery);
        const answer = await gateway.fetch(caller.path('chat', delivery), { json });
        const body = await answer.text();
        const which = `${told}, ${id}, ${delivery}: ${body}`;
        assert.equal(answer.status, 200, which);
        assert.match(body, /Hel(lo|.*lo)/s, which);
        const counts = [...body.matchAll(/okens?(?:Count)?"\s*:\s*([^,{}[\]]+)/g)].map(([, count]) => count!);
        assert.ok(counts.length > 0 && counts.every((count) => /^\d{1,3}$/.test(count)), which);
        const record = await explained(gateway, answer);
        assert.equal(record.usage.source, 'counted', which);
        assert.ok(record.usage.input_tokens > 0 && record.usage.input_tokens < 100, which);
        assert.ok(record.usage.output_tokens > 0 && record.usage.output_tokens < 100, which);
        // The caller reads the same numbers as the books have.
        if (id !== 'openai-chat') continue;
        const { input_tokens: input, output_tokens: output } = record.usage;
        assert.match(body, new RegExp(`"prompt_tokens":${input}\\b`), which);
        assert.match(body, new RegExp(`"completion_tokens":${output}\\b`), which);
        assert.match(body, new RegExp(`"total_tokens":${input + output}\\b`), which);
      }
    }
  });
}

async function telling(
  t: TestContext,
  format: (typeof upstreamIds)[number],
  how: () => { told: string; streamed: number },
): Promise<string> {
  const server = createServer((request, reply) => {
    let asked = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      asked += piece;
    });
    request.on('end', () => {
      if (request.method !== 'POST') return reply.writeHead(404).end();
      const streams = request.url!.includes('streamGenerateContent') || /"stream":\s*true/.test(asked);
      const { told, streamed } = how();
      const { whole, streams: ways } = answers[format];
      const body = streams ? ways[streamed]!.map(frame).join('') : JSON.stringify(whole);
      reply
        .writeHead(200, { 'content-type': streams ? 'text/event-stream' : 'application/json' })
        .end(body.replaceAll('"TOLD"', told));
    });
  });
  return listening(t, server);
}

function frame(event: object | string): string {
  if (typeof event === 'string') return `data: ${event}\n\n`;
  return `${'type' in event ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`;
}
