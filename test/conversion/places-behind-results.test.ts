import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anthropicMessages } from '../../src/formats/dialects/anthropic-messages/index.ts';
import { bedrockConverse } from '../../src/formats/dialects/bedrock-converse/index.ts';
import { cohereChat } from '../../src/formats/dialects/cohere-chat/index.ts';
import { gemini } from '../../src/formats/dialects/gemini/index.ts';
import { isFailure } from '../../src/kernel/failure.ts';
import { call, result, say, text } from '../fixtures/encode-messages.ts';

/* Results are paired with their calls, which makes other messages of the caller's: an error still names the caller's. */

for (const [dialect, model] of [
  [anthropicMessages, 'claude-sonnet-4-5'],
  [bedrockConverse, 'anthropic.claude-sonnet-4-5-v1:0'],
  [cohereChat, 'command-a-03-2025'],
  [gemini, 'gemini-2.5-flash'],
] as const) {
  test(`${dialect.id}: what cannot be sent behind results is named by its place in the request`, () => {
    const file = { kind: 'file-id', fileId: 'assistant-abc' } as const;
    const messages = [
      say('system', 'Be brief.'),
      say('assistant', call('a', '{}'), call('b', '{}')),
      say('tool', result('b', text('2')), result('a', text('1'))),
      say('user', text('And this?'), { type: 'document', source: file }, { type: 'image', source: file }),
    ];
    const request = { model: 'alias', stream: true, includeUsage: false, messages };
    const encoded = dialect.encodeRequest(request, { model, maxOutputTokens: null, stream: true, omit: [] });
    assert.ok(isFailure(encoded) && encoded.kind === 'invalid-request', JSON.stringify(encoded));
    assert.match(encoded.param ?? '', /^messages\[3\]\.content/);
  });
}
