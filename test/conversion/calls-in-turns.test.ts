import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { after, test } from 'node:test';
import { isObject, type JsonObject } from '../../src/kernel/json.ts';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

/* A provider that sends the pieces of two calls in turns, or a choice that nobody asked for, under callers of each format. */

let pieces: object[] = [];
const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => stream(response));
});
function stream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const choice of pieces) {
    const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [choice] };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }
  response.end('data: [DONE]\n\n');
}
const url = await listening({ after: after as never }, server);
const gateway = await startGateway(
  { after: after as never },
  {
    providers: { up: { type: 'openai', base_url: `${url}/v1`, api_key: 'a-key', dialects: ['openai-chat'] } },
    models: { chat: { targets: ['up/m'] } },
  },
);

interface Answer {
  calls: { id: string; name: string; input: unknown }[];
  text: string;
  reason: unknown;
}

interface Door {
  path: string;
  body: object;
  headers?: Record<string, string>;
  /** Reads a stream as a client does that expects its parts one after the other. */
  read(frames: readonly JsonObject[]): Answer;
}

const messages = [{ role: 'user', content: 'Hi' }];
// biome-ignore lint/suspicious/noExplicitAny: what is looked at is the wire
type Frame = any;

const doors: Record<string, Door> = {
  messages: {
    path: '/v1/messages',
    body: { model: 'chat', max_tokens: 9, stream: true, messages },
    read(frames: readonly Frame[]) {
      const answer: Answer = { calls: [], text: '', reason: null };
      let open: { id: string; name: string; json: string } | null = null;
      for (const { type, content_block: block, delta } of frames) {
        if (block?.type === 'tool_use') open = { id: block.id, name: block.name, json: '' };
        if (delta?.type === 'input_json_delta') open!.json += delta.partial_json;
        answer.text += delta?.text ?? '';
        if (type === 'message_delta') answer.reason = delta.stop_reason;
        if (type !== 'content_block_stop' || open === null) continue;
        answer.calls.push({ id: open.id, name: open.name, input: JSON.parse(open.json) });
        open = null;
      }
      return answer;
    },
  },
  responses: {
    path: '/v1/responses',
    body: { model: 'chat', input: 'Hi', stream: true },
    read(frames: readonly Frame[]) {
      const { output, status } = frames.at(-1).response;
      const calls = output.filter(({ type }: Frame) => type === 'function_call');
      return {
        calls: calls.map((one: Frame) => ({ id: one.call_id, name: one.name, input: JSON.parse(one.arguments) })),
        text: output.flatMap(({ content = [] }: Frame) => content.map(({ text }: Frame) => text)).join(''),
        reason: status,
      };
    },
  },
  gemini: {
    path: '/v1beta/models/chat:streamGenerateContent?alt=sse',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    read(frames: readonly Frame[]) {
      const first = frames.flatMap(({ candidates }) => candidates.filter(({ index }: Frame) => index === 0));
      const parts = first.flatMap(({ content }) => content.parts);
      return {
        calls: parts.flatMap(({ functionCall: call }) =>
          call === undefined ? [] : [{ id: call.id, name: call.name, input: call.args }],
        ),
        text: parts.map(({ text = '' }) => text).join(''),
        reason: first.at(-1).finishReason,
      };
    },
  },
  cohere: {
    path: '/v2/chat',
    body: { model: 'chat', messages, stream: true },
    read(frames: readonly Frame[]) {
      const answer: Answer = { calls: [], text: '', reason: null };
      let open: { id: string; name: string; json: string } | null = null;
      for (const { type, delta } of frames) {
        const call = delta?.message?.tool_calls;
        if (type === 'tool-call-start') open = { id: call.id, name: call.function.name, json: '' };
        if (type === 'tool-call-delta') open!.json += call.function.arguments;
        answer.text += delta?.message?.content?.text ?? '';
        if (type === 'message-end') answer.reason = delta.finish_reason;
        if (type !== 'tool-call-end' || open === null) continue;
        answer.calls.push({ id: open.id, name: open.name, input: JSON.parse(open.json) });
        open = null;
      }
      return answer;
    },
  },
  ollama: {
    path: '/api/chat',
    body: { model: 'chat', messages },
    read(frames: readonly Frame[]) {
      const calls = frames.flatMap(({ message }) => message.tool_calls ?? []);
      return {
        calls: calls.map(({ id, function: one }) => ({ id, name: one.name, input: one.arguments })),
        text: frames.map(({ message }) => message.content).join(''),
        reason: frames.at(-1).done_reason,
      };
    },
  },
  'ai-sdk': {
    path: '/v4/ai/language-model',
    body: { prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] },
    headers: {
      'ai-language-model-id': 'chat',
      'ai-language-model-streaming': 'true',
      'ai-language-model-specification-version': '4',
    },
    read(frames: readonly Frame[]) {
      const calls = frames.filter(({ type }) => type === 'tool-call');
      return {
        calls: calls.map((one) => ({ id: one.toolCallId, name: one.toolName, input: JSON.parse(one.input) })),
        text: frames.map(({ type, delta }) => (type === 'text-delta' ? delta : '')).join(''),
        reason: frames.at(-1).finishReason.unified,
      };
    },
  },
};

async function answerOf({ path, body, headers = {}, read }: Door): Promise<Answer> {
  const response = await gateway.fetch(path, { json: body, headers });
  assert.equal(response.status, 200);
  const lines = (await response.text()).split(/\r?\n/).map((line) => line.replace(/^data: /, ''));
  return read(lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as JsonObject));
}

const begun = (index: number, text = '') => ({
  index,
  id: `call_${index}`,
  type: 'function',
  function: { name: `f${index}`, arguments: text },
});
const more = (index: number, text: string) => ({ index, function: { arguments: text } });
const calling = (call: object, finish_reason: string | null = null) => ({
  index: 0,
  delta: { tool_calls: [call] },
  finish_reason,
});
const ended = { index: 0, delta: {}, finish_reason: 'tool_calls' };

/** Ways in which two calls come, with the same arguments. */
const ways: Record<string, object[]> = {
  'both begin, then piece by piece': [
    calling(begun(0)),
    calling(begun(1)),
    ...['{"x"', ': "}', '{'].flatMap((piece) => [calling(more(0, piece)), calling(more(1, piece))]),
    calling(more(0, '0"}')),
    calling(more(1, '1"}')),
    ended,
  ],
  'the second comes whole between two pieces of the first': [
    calling(begun(0, '{"x": ')),
    calling(begun(1, '{"x": "}{1"}')),
    calling(more(0, '"}{0"}')),
    ended,
  ],
  'a reason after each': [
    calling(begun(0, '{"x": ')),
    calling(more(0, '"}{0"}'), 'tool_calls'),
    calling(begun(1, '{"x": ')),
    calling(more(1, '"}{1"}'), 'tool_calls'),
  ],
};
for (const [way, sent] of Object.entries(ways)) {
  for (const [name, door] of Object.entries(doors)) {
    test(`two calls of one answer keep their arguments: ${way}, in the format of ${name}`, async () => {
      pieces = sent;
      const { calls } = await answerOf(door);
      const inputs = calls.map(({ id, name, input }) => [id, name, isObject(input) ? input.x : input]);
      assert.deepEqual(inputs, [
        ['call_0', 'f0', '}{0'],
        ['call_1', 'f1', '}{1'],
      ]);
    });
  }
}

for (const [name, door] of Object.entries(doors)) {
  test(`a second choice that nobody asked for changes nothing of the first, in the format of ${name}`, async () => {
    const said = { index: 0, delta: { content: 'ZERO' } };
    const end = { index: 0, delta: {}, finish_reason: 'stop' };
    pieces = [said, end];
    const alone = await answerOf(door);
    pieces = [said, { index: 1, delta: { content: 'ONE' } }, end, { index: 1, delta: {}, finish_reason: 'length' }];
    assert.deepEqual(await answerOf(door), alone);
    assert.equal(alone.text, 'ZERO');
  });
}

test('arguments that are no JSON reach callers of Ollama as they are, never as a call without arguments', async () => {
  pieces = [calling(begun(0, '{"path": "/tmp')), { ...ended, finish_reason: 'length' }];
  const { calls, reason } = await answerOf(doors.ollama!);
  assert.deepEqual(calls, [{ id: 'call_0', name: 'f0', input: { _raw: '{"path": "/tmp' } }]);
  assert.equal(reason, 'length');
});
