import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../kernel/json.ts';
import type { AnswerHead } from '../dialect.ts';
import { openAiChat } from '../openai-chat/index.ts';
import { decodeTurns } from './decode-messages.ts';
import { bedrockConverse } from './index.ts';

/* Tools that Bedrock runs itself, such as Nova's search: nobody else may run their calls. */

const head: AnswerHead = { fallbackId: 'x', model: 'm', createdS: 1, includeUsage: true, elapsedMs: () => 3 };
const content: JsonObject[] = [
  { toolUse: { toolUseId: 't1', name: 'nova_grounding', input: { query: 'rain' }, type: 'server_tool_use' } },
  { toolResult: { toolUseId: 't1', type: 'nova_grounding_result', status: 'success', content: [{ json: { n: 1 } }] } },
  { text: 'It rains.' },
];
const answer = {
  output: { message: { role: 'assistant', content } },
  stopReason: 'end_turn',
  usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7 },
  metrics: { latencyMs: 3 },
};

test('a call that Bedrock ran stays one for callers of Bedrock, whole and streamed', () => {
  const events = bedrockConverse.decodeWhole(answer);
  const whole = bedrockConverse.fold(head);
  for (const event of events) whole.add(event);
  assert.deepEqual(whole.result(), answer);

  const encoder = bedrockConverse.encodeStream(head);
  const frames = events.map((event) => encoder.step(event)).join('');
  const decoder = bedrockConverse.decodeStream();
  const again = bedrockConverse.fold(head);
  for (const [, event = '', data = ''] of frames.matchAll(/event: (\w+)\ndata: (.*)\n/g))
    for (const read of decoder.step({ event, data })) again.add(read);
  assert.deepEqual(again.result(), answer);
});

test('callers of other formats get no call to run, and are told what has no place there', () => {
  const fold = openAiChat.fold(head);
  for (const event of bedrockConverse.decodeWhole(answer)) fold.add(event);
  const { choices } = fold.result() as unknown as { choices: { message: JsonObject; finish_reason: string }[] };
  const { message, finish_reason } = choices[0]!;
  assert.deepEqual([message.content, message.tool_calls, finish_reason], ['It rains.', undefined, 'stop']);
  assert.deepEqual([...(fold.lost ?? [])], ['toolUse', 'toolResult']);
});

test('a turn with such a call is sent back without it to others, and with the words around it', () => {
  const [turn] = decodeTurns([{ role: 'assistant', content }]);
  assert.deepEqual(
    turn!.parts.map(({ type }) => type),
    ['vendor', 'vendor', 'text'],
  );
  const own = [
    { toolUse: { toolUseId: 't2', name: 'look_up', input: {} } },
    { toolResult: { toolUseId: 't2', content: [{ text: 'Rain.' }] } },
  ];
  assert.deepEqual(
    decodeTurns([{ role: 'user', content: own }])[0]!.parts.map(({ type }) => type),
    ['tool-call', 'tool-result'],
  );
});

test('the context of a document is read before it', () => {
  const document = { name: 'page', format: 'txt', context: 'Of the law.', source: { text: 'Grass is blue.' } };
  const [turn] = decodeTurns([{ role: 'user', content: [{ document }] }]);
  assert.deepEqual(turn!.parts[0], { type: 'text', text: 'Of the law.' });
  assert.equal(turn!.parts[1]!.type, 'document');
});
