import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeRequest } from '../../../../test/fixtures/decode-request.ts';
import { isFailure } from '../../../kernel/failure.ts';
import { anthropicMessages } from './index.ts';
import { callersWord } from './read-request.ts';

test('thoughts of earlier turns that are left out are not named as the wish for new ones', () => {
  assert.deepEqual(
    ['thinking', 'reasoning_content', 'messages[1].reasoning_content', 'reasoning_effort'].map(callersWord),
    ['messages.thinking', 'messages.thinking', 'messages[1].thinking', 'thinking'],
  );
});

test('a result without a call and a call without a result are blocks of messages', () => {
  assert.deepEqual(['messages[0].tool_call_id', 'messages[1].tool_calls[0]'].map(callersWord), [
    'messages.tool_result',
    'messages.tool_use',
  ]);
});

test('thinking between calls alone, which other providers cannot do, is named as lost', () => {
  const lost = (type: string) => {
    const hello = { model: 'm', max_tokens: 64, messages: [{ role: 'user', content: 'Hi' }] };
    const decoded = decodeRequest(anthropicMessages, { ...hello, thinking: { type } });
    assert.ok(!isFailure(decoded), JSON.stringify(decoded));
    return (decoded.lost ?? []).map(({ field }) => callersWord(field));
  };
  assert.deepEqual(['between_tools', 'adaptive', 'disabled'].map(lost), [['thinking.type'], [], []]);
});
