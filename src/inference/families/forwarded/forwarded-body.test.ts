import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure } from '../../../kernel/failure.ts';
import { readForwarded } from './forwarded-body.ts';

test('what a service refuses of a chat stays in the body of another endpoint', async () => {
  const text = '{ "model":"ours","query":"q", "documents":["d"] , "n":2,"max_completion_tokens":1.0e1 }';
  const read = readForwarded(Buffer.from(text), 'rerank');
  assert.ok(!isFailure(read));
  const order = { dialect: 'openai-chat', model: 'theirs', maxOutputTokens: null, body: {}, child: null } as const;
  const encoded = await read.encode({ provider: 'cohere', ...order });
  assert.ok(!isFailure(encoded));
  assert.equal(encoded.bytes.toString(), text.replace('"ours"', '"theirs"'));
  assert.deepEqual(encoded.losses, []);
});
