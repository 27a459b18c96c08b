import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callersWord } from './read-request.ts';

test('thoughts of earlier turns that are left out are not told as the wish for new ones', () => {
  assert.deepEqual(
    ['thinking', 'reasoning_content', 'messages[1].reasoning_content', 'reasoning_effort'].map(callersWord),
    ['messages.thinking', 'messages.thinking', 'messages[1].thinking', 'thinking'],
  );
});
