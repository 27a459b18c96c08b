import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../kernel/json.ts';
import { decodeContents, responsesFollowCalls, sealSignature } from './decode-messages.ts';
import { callersWord } from './read-request.ts';

test("a model's turn sent back in the pieces of its stream is one thought with its proof, one text, its calls", () => {
  const thoughtSignature = sealSignature({ vendor: 'anthropic-messages', signature: 'proof' });
  const functionCall = { id: 'c1', name: 'look', args: {} };
  const [turn] = decodeContents([
    {
      role: 'model',
      parts: [
        { text: 'Let me ', thought: true },
        { text: 'see.', thought: true },
        { text: '', thought: true, thoughtSignature },
        { text: 'I look' },
        { text: ' it up.' },
        { functionCall },
        { text: 'Or not.', thought: true },
      ],
    },
  ]);
  assert.deepEqual(turn, {
    role: 'assistant',
    parts: [
      { type: 'reasoning', text: 'Let me see.', signature: 'proof', vendor: 'anthropic-messages' },
      { type: 'text', text: 'I look it up.' },
      { type: 'tool-call', id: 'c1', name: 'look', argumentsJson: '{}' },
      { type: 'reasoning', text: 'Or not.' },
    ],
  });
});

test("a turn of Google's SDK for Go, which leaves out empty texts, is the same", () => {
  const thoughtSignature = sealSignature({ vendor: 'anthropic-messages', signature: 'proof' });
  const [turn] = decodeContents([
    {
      role: 'model',
      parts: [{ text: 'Hm.', thought: true }, { thought: true, thoughtSignature }, { text: 'Hello' }, {}],
    },
  ]);
  assert.deepEqual(turn!.parts, [
    { type: 'reasoning', text: 'Hm.', signature: 'proof', vendor: 'anthropic-messages' },
    { type: 'text', text: 'Hello' },
  ]);
});

test('the parts of a user stay apart', () => {
  const [turn] = decodeContents([{ role: 'user', parts: [{ text: 'One.' }, { text: 'Two.' }] }]);
  assert.deepEqual(turn!.parts, [
    { type: 'text', text: 'One.' },
    { type: 'text', text: 'Two.' },
  ]);
});

test('fields are named by the contents that the caller wrote, whatever stands before them', () => {
  assert.deepEqual(
    ['messages[0].content[2]', 'messages[1].content'].map((field) => callersWord(field, 0)),
    ['contents[0].parts[2]', 'contents[1].parts'],
  );
  assert.deepEqual(
    ['messages[0].content', 'messages[1].content[0]'].map((field) => callersWord(field, 1)),
    ['systemInstruction.parts', 'contents[0].parts[0]'],
  );
});

test('thoughts of earlier turns that are left out are not told as the wish for new ones', () => {
  assert.equal(callersWord('thinking', 0), 'contents.thought');
  assert.equal(callersWord('reasoning_effort', 0), 'generationConfig.thinkingConfig');
});

test('each response needs a call of its name before it that no other response answers', () => {
  const call = (name: string) => ({ functionCall: { name, args: {} } });
  const response = (name: string) => ({ functionResponse: { name, response: { ok: true } } });
  const contents = (...turns: JsonObject[][]) =>
    turns.map((parts, at) => ({ role: at % 2 === 0 ? 'model' : 'user', parts }));
  assert.equal(responsesFollowCalls(contents([call('a'), call('a'), call('b')], [response('b'), response('a')])), null);
  const twice = contents(
    [call('a'), call('a'), call('b')],
    [response('a'), response('a')],
    [call('a')],
    [response('a')],
  );
  assert.equal(responsesFollowCalls(twice), null);
  for (const [wrong, place] of [
    [contents([call('a')], [response('b')]), 'contents[1].parts[0]'],
    [contents([call('a')], [response('a'), response('a')]), 'contents[1].parts[1]'],
    [contents([response('a')], [call('a')]), 'contents[0].parts[0]'],
  ] as const)
    assert.equal(responsesFollowCalls(wrong)?.path, `${place}.functionResponse`);
});
