import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { callerIds, upstreamIds } from '../contract/dialect-matrix/formats.ts';
import { callerFormats } from '../contract/dialect-matrix/rig.ts';
import { upstreamFormats } from '../contract/dialect-matrix/upstreams.ts';
import { startGateway } from '../start-gateway.ts';
import { explained } from './read-answer.ts';

const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] };
const usage = { input_tokens: 3, output_tokens: 0 };
const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', output: [], usage };
const candidates = [{ index: 0, content: { role: 'model', parts: [] }, finishReason: 'STOP' }];
const chunk = (delta: object, finish_reason: string | null) => ({
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
  choices: [{ index: 0, delta, finish_reason }],
});

/** An answer of each format that ends as usual and says nothing. */
const empty = {
  'openai-chat': {
    whole: {
      ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
      choices: [{ index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'stop' }],
    },
    stream: [chunk({ role: 'assistant', content: '' }, null), chunk({}, 'stop'), '[DONE]'],
  },
  'anthropic-messages': {
    whole: { ...message, stop_reason: 'end_turn', usage },
    stream: [
      { type: 'message_start', message: { ...message, stop_reason: null, usage } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 0 } },
      { type: 'message_stop' },
    ],
  },
  'openai-responses': {
    whole: { ...response, status: 'completed' },
    stream: [
      { type: 'response.created', response: { ...response, status: 'in_progress' } },
      { type: 'response.completed', response: { ...response, status: 'completed' } },
    ],
  },
  gemini: {
    whole: { responseId: 'r', modelVersion: 'm', candidates },
    stream: [{ responseId: 'r', modelVersion: 'm', candidates }],
  },
} as const;

for (const format of upstreamIds) {
  test(`an empty answer in ${format}: the next target is asked, and 502 says so when all are empty`, async (t) => {
    const asked: string[] = [];
    const server = createServer((request, reply) => {
      let body = '';
      request.setEncoding('utf8').on('data', (piece: string) => {
        body += piece;
      });
      request.on('end', () => {
        if (request.method !== 'POST') return reply.writeHead(404).end();
        asked.push(request.url!.split('/')[1]!);
        const streams = request.url!.includes('streamGenerateContent') || /"stream":\s*true/.test(body);
        const { whole, stream } = empty[format];
        reply
          .writeHead(200, { 'content-type': streams ? 'text/event-stream' : 'application/json' })
          .end(streams ? stream.map(frame).join('') : JSON.stringify(whole));
      });
    });
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    t.after(() => {
      server.close();
      server.closeAllConnections();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { provider, model } = upstreamFormats[format];
    // Providers of their own for each way to ask: what one does to their health is nothing to the next.
    const ways = callerIds.flatMap((caller) => (['whole', 'stream'] as const).map((way) => [caller, way] as const));
    const names = ways.flatMap((way) => [`${way.join('-')}-1`, `${way.join('-')}-2`]);
    const gateway = await startGateway(t, {
      providers: Object.fromEntries(names.map((name) => [name, provider(`${url}/${name}`)])),
      models: Object.fromEntries(
        ways.map((way) => [
          way.join('-'),
          {
            targets: [1, 2].map((priority) => ({ provider: `${way.join('-')}-${priority}`, model, priority })),
            attempts: 2,
          },
        ]),
      ),
    });
    for (const way of ways) {
      const [caller, delivery] = way;
      const name = way.join('-');
      asked.splice(0);
      const json = callerFormats[caller].body(name, { say: 'Hello', maxTokens: 64 }, delivery);
      const answer = await gateway.fetch(callerFormats[caller].path(name, delivery), { json });
      const text = await answer.text();
      assert.deepEqual([answer.status, asked], [502, [`${name}-1`, `${name}-2`]], `${name}: ${text}`);
      assert.match(text, /the answer is empty/);
      const { units, route } = await explained(gateway, answer);
      assert.deepEqual([units, route.attempts.map((attempt) => attempt.class)], [0, ['malformed', 'malformed']]);
    }
  });
}

function frame(event: object | string): string {
  if (typeof event === 'string') return `data: ${event}\n\n`;
  return `${'type' in event ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`;
}
