import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { callerIds, upstreamIds } from '../contract/dialect-matrix/formats.ts';
import { callerFormats } from '../contract/dialect-matrix/rig.ts';
import { upstreamFormats } from '../contract/dialect-matrix/upstreams.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { explained } from './read-answer.ts';

const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] };
const usage = { input_tokens: 3, output_tokens: 0 };
const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', output: [], usage };
const candidates = [{ index: 0, content: { role: 'model', parts: [] }, finishReason: 'STOP' }];
const chunk = (delta: object, finish_reason: string | null) => ({
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
  choices: [{ index: 0, delta, finish_reason }],
});

const completion = (content: string | null, more: object) => ({
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm', ...more },
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
});

/** Answers of each format that end as usual and say nothing. */
const empty = {
  'openai-chat': {
    whole: [
      completion('', {}),
      completion('', { usage: { prompt_tokens: 1, completion_tokens: 0, total_tokens: 1 } }),
      completion(null, { usage: null }),
    ],
    stream: [
      [chunk({ role: 'assistant', content: '' }, null), chunk({}, 'stop'), '[DONE]'],
      [chunk({ role: 'assistant', content: '' }, 'stop'), '[DONE]'],
    ],
  },
  'anthropic-messages': {
    whole: [{ ...message, stop_reason: 'end_turn', usage }],
    stream: [
      [
        { type: 'message_start', message: { ...message, stop_reason: null, usage } },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 0 } },
        { type: 'message_stop' },
      ],
    ],
  },
  'openai-responses': {
    whole: [{ ...response, status: 'completed' }],
    stream: [
      [
        { type: 'response.created', response: { ...response, status: 'in_progress' } },
        { type: 'response.completed', response: { ...response, status: 'completed' } },
      ],
    ],
  },
  gemini: {
    whole: [{ responseId: 'r', modelVersion: 'm', candidates }],
    stream: [[{ responseId: 'r', modelVersion: 'm', candidates }]],
  },
} as const;

for (const format of upstreamIds) {
  test(`an empty answer in ${format}: the next target is asked, and 502 says so when all are empty`, async (t) => {
    const { whole, stream } = empty[format];
    const asked: string[] = [];
    const server = createServer((request, reply) => {
      let body = '';
      request.setEncoding('utf8').on('data', (piece: string) => {
        body += piece;
      });
      request.on('end', () => {
        const place = request.url!.split('/')[1]!;
        if (request.method !== 'POST') return reply.writeHead(404).end();
        asked.push(place);
        const kind = Number(place.split('-').at(-2));
        const streams = request.url!.includes('streamGenerateContent') || /"stream":\s*true/.test(body);
        reply
          .writeHead(200, { 'content-type': streams ? 'text/event-stream' : 'application/json' })
          .end(
            streams ? stream[kind % stream.length]!.map(frame).join('') : JSON.stringify(whole[kind % whole.length]),
          );
      });
    });
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    const spare = await startUpstream();
    t.after(() => {
      server.close();
      server.closeAllConnections();
      return spare.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { provider, model } = upstreamFormats[format];
    const kinds = { whole: whole.keys(), stream: stream.keys() };
    // Providers of their own for each way to ask: what one does to their health is nothing to the next.
    const ways = (['whole', 'stream'] as const).flatMap((delivery) =>
      [...kinds[delivery]].flatMap((kind) =>
        callerIds.map((caller) => ({ caller, delivery, name: `${caller}-${delivery}-${kind}` })),
      ),
    );
    const names = ways.flatMap(({ name }) => [`${name}-1`, `${name}-2`, `${name}-3`]);
    const target = (name: string, priority: number) => ({ provider: name, model, priority });
    const gateway = await startGateway(t, {
      providers: {
        ...Object.fromEntries(names.map((name) => [name, provider(`${url}/${name}`)])),
        spare: { type: 'openai', base_url: `${spare.url}/v1`, api_key: 'x' },
      },
      models: Object.fromEntries(
        ways.flatMap(({ name }) => [
          [name, { targets: [target(`${name}-1`, 1), target(`${name}-2`, 2)], attempts: 2 }],
          [`${name}-spared`, { targets: [target(`${name}-3`, 1), target('spare', 2)] }],
        ]),
      ),
    });
    for (const { caller, delivery, name } of ways) {
      const ask = (alias: string) => {
        const json = callerFormats[caller].body(alias, { say: 'Hello', maxTokens: 64 }, delivery);
        return gateway.fetch(callerFormats[caller].path(alias, delivery), { json });
      };
      asked.splice(0);
      const answer = await ask(name);
      const text = await answer.text();
      assert.deepEqual([answer.status, asked], [502, [`${name}-1`, `${name}-2`]], `${name}: ${text}`);
      assert.match(text, /the answer is empty/);
      const { units, route } = await explained(gateway, answer);
      assert.deepEqual([units, route.attempts.map((attempt) => attempt.class)], [0, ['malformed', 'malformed']]);

      asked.splice(0);
      const spared = await ask(`${name}-spared`);
      const said = await spared.text();
      assert.deepEqual([spared.status, asked], [200, [`${name}-3`]], `${name}: ${said}`);
      assert.equal(spared.headers.get('x-culvert-provider'), 'spare');
    }
  });
}

function frame(event: object | string): string {
  if (typeof event === 'string') return `data: ${event}\n\n`;
  return `${'type' in event ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`;
}
