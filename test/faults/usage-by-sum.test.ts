import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { callerIds } from '../contract/dialect-matrix/formats.ts';
import { callerFormats } from '../contract/dialect-matrix/rig.ts';
import { upstreamFormats } from '../contract/dialect-matrix/upstreams.ts';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';
import { explained } from './read-answer.ts';
import { type DocumentedUsage, documentedUsages } from './usages.ts';

test("the books hold all that a vendor's parts and total tell, whoever asks and however", async (t) => {
  const url = await telling(t, documentedUsages);
  const names = documentedUsages.map((_, at) => `case-${at}`);
  const providerOf = ({ type, format }: DocumentedUsage, name: string) => ({
    ...formatOf(format).provider(`${url}/${name}`),
    ...(format === 'openai-chat' && { type }),
    ...(type === 'azure-openai' && { api_version: '2024-10-21' }),
  });
  const gateway = await startGateway(t, {
    providers: Object.fromEntries(documentedUsages.map((one, at) => [names[at]!, providerOf(one, names[at]!)])),
    models: Object.fromEntries(
      documentedUsages.map(({ format }, at) => [
        names[at]!,
        { targets: [{ provider: names[at]!, model: formatOf(format).model, price: { input: 1, output: 1 } }] },
      ]),
    ),
  });
  for (const [at, one] of documentedUsages.entries()) {
    for (const caller of callerIds) {
      for (const delivery of ['whole', 'stream'] as const) {
        const json = callerFormats[caller].body(names[at]!, { say: 'Hello', maxTokens: 64 }, delivery);
        const response = await gateway.fetch(callerFormats[caller].path(names[at]!, delivery), { json });
        const said = await response.text();
        assert.equal(response.status, 200, `${one.vendor}: ${said}`);
        const { usage, cost_usd } = (await explained(gateway, response)) as Booked;
        const booked = [usage.input_tokens, usage.output_tokens, usage.cached_input_tokens, usage.reasoning_tokens];
        const expected = [one.input, one.output, one.cached ?? 0, one.reasoning ?? 0];
        assert.deepEqual(
          [...booked, usage.source],
          [...expected, 'upstream'],
          `${one.vendor} → ${caller}, ${delivery}`,
        );
        assert.equal(Math.round(cost_usd! * 1e6), one.input + one.output);
      }
    }
  }
});

type Booked = Awaited<ReturnType<typeof explained>> & {
  usage: { cached_input_tokens: number; reasoning_tokens: number };
};

function formatOf(format: DocumentedUsage['format']) {
  if (format !== 'cohere-chat') return upstreamFormats[format];
  return { provider: (url: string) => ({ type: 'cohere', base_url: url, api_key: 'k' }), model: 'command-a-03-2025' };
}

/** Says `Hello` in the format of each case, and tells its usage. */
async function telling(t: TestContext, cases: readonly DocumentedUsage[]): Promise<string> {
  const server = createServer((request, reply) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
    });
    request.on('end', () => {
      const one = cases[Number(/^\/case-(\d+)/.exec(request.url!)?.[1])];
      if (one === undefined || request.method !== 'POST') return reply.writeHead(404).end();
      const streams = request.url!.includes('streamGenerateContent') || /"stream":\s*true/.test(body);
      reply
        .writeHead(200, { 'content-type': streams ? 'text/event-stream' : 'application/json' })
        .end(streams ? streamOf(one) : JSON.stringify(wholeOf(one)));
    });
  });
  return listening(t, server);
}

const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null };
const text = { type: 'output_text', text: 'Hello', annotations: [] };
const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [text] };
const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm' };
const chatHead = { id: 'c', created: 1, model: 'm' };

function wholeOf({ format, usage, at }: DocumentedUsage): object {
  switch (format) {
    case 'openai-chat':
      return {
        ...chatHead,
        object: 'chat.completion',
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
        ...(at === undefined ? { usage } : { [at]: { usage } }),
      };
    case 'anthropic-messages':
      return { ...message, content: [{ type: 'text', text: 'Hello' }], stop_reason: 'end_turn', usage };
    case 'openai-responses':
      return { ...response, output: [item], status: 'completed', usage };
    case 'gemini':
      return {
        candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }],
        usageMetadata: usage,
      };
    case 'cohere-chat': {
      const content = [{ type: 'text', text: 'Hello' }];
      return { id: 'c', message: { role: 'assistant', content }, finish_reason: 'COMPLETE', usage };
    }
  }
}

function streamOf(one: DocumentedUsage): string {
  const { format, usage, at } = one;
  const chunk = { ...chatHead, object: 'chat.completion.chunk' };
  switch (format) {
    case 'openai-chat': {
      const choice = (delta: object, finish_reason: string | null) => [{ index: 0, delta, finish_reason }];
      const last = at === undefined ? { choices: [], usage } : { choices: choice({}, 'stop'), [at]: { usage } };
      const finish = at === undefined ? [{ ...chunk, choices: choice({}, 'stop') }] : [];
      return frames({ ...chunk, choices: choice({ content: 'Hello' }, null) }, ...finish, { ...chunk, ...last }) + done;
    }
    case 'anthropic-messages':
      return frames(
        {
          type: 'message_start',
          message: {
            ...message,
            content: [],
            stop_reason: null,
            usage: { ...usage, output_tokens: 1, iterations: null },
          },
        },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
        { type: 'message_stop' },
      );
    case 'openai-responses':
      return frames(
        { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: wholeOf(one) },
      );
    case 'gemini':
      return frames(wholeOf(one));
    case 'cohere-chat':
      return frames(
        { type: 'message-start', id: 'c', delta: { message: { role: 'assistant', content: [] } } },
        { type: 'content-start', index: 0, delta: { message: { content: { type: 'text', text: '' } } } },
        { type: 'content-delta', index: 0, delta: { message: { content: { text: 'Hello' } } } },
        { type: 'content-end', index: 0 },
        { type: 'message-end', id: 'c', delta: { finish_reason: 'COMPLETE', usage } },
      );
  }
}

const done = 'data: [DONE]\n\n';

function frames(...events: readonly object[]): string {
  const name = (event: object) => ('type' in event ? `event: ${event.type}\n` : '');
  return events.map((event) => `${name(event)}data: ${JSON.stringify(event)}\n\n`).join('');
}
