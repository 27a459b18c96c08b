// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { isFailure } from '../../../kernel/failure.ts';
import { countInPieces, countRequest, readForCount } from './count-request.ts';

const count = (text: string) => countInPieces(text, countTokens);

test('text is counted as the tokenizer counts it', () => {
  for (const text of ['', 'Hello there', 'Grüße 👋 '.repeat(50), 'function f() {\n  return 1;\n}\n'.repeat(40)]) {
    assert.equal(count(text), countTokens(text));
  }
});

test('long runs without a boundary cost time by their length alone, and are counted within 3 %', () => {
  const url = `https://x.example/${'abc/def-'.repeat(400)}`;
  const text = `see ${url} and go on`;
  assert.ok(Math.abs(count(text) - countTokens(text)) <= 0.03 * countTokens(text));
  const before = process.threadCpuUsage();
  count('a'.repeat(400_000));
  count(' '.repeat(200_000));
  // Counted in one piece, the second alone takes minutes, of CPU too.
  assert.ok(process.threadCpuUsage(before).user < 10_000_000);
  const longer = process.threadCpuUsage();
  assert.equal(
    countInPieces('a'.repeat(4_000_000), (piece) => piece.length),
    4_000_000,
  );
  // With a look at the whole run for each piece, it takes a minute.
  assert.ok(process.threadCpuUsage(longer).user < 5_000_000);
});

test('everything that a model reads is counted: instructions, messages, tools, results, pictures', () => {
  const tokensOf = (more: object) => {
    const body = { model: 'm', messages: [{ role: 'user', content: 'Hello' }], ...more };
    const read = readForCount(Buffer.from(JSON.stringify(body)), 'anthropic-messages');
    assert.ok(!isFailure(read), JSON.stringify(read));
    return countRequest(read.neutral(), count);
  };
  const least = tokensOf({});
  assert.ok(least >= 5 && least < 20);
  const words = 'word '.repeat(100);
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(100_000) } };
  const call = { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: { words } }] };
  const result = (content: unknown) => ({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 't', content }],
  });
  for (const more of [
    { system: words },
    { system: [{ type: 'text', text: words }] },
    { messages: [{ role: 'user', content: words }] },
    { tools: [{ name: 'f', description: words, input_schema: { type: 'object' } }] },
    { messages: [{ role: 'user', content: 'x' }, call, result('x')] },
    { messages: [{ role: 'user', content: 'x' }, call, result([{ type: 'text', text: words }])] },
    { messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'text', data: words } }] }] },
  ]) {
    assert.ok(tokensOf(more) > least + 90, JSON.stringify(more).slice(0, 80));
  }
  const withImage = tokensOf({ messages: [{ role: 'user', content: [image] }] });
  assert.ok(withImage > 1_000 && withImage < 3_000);
});
