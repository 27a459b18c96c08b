import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure } from '../../../kernel/failure.ts';
import type { Canonical } from '../../models/steps.ts';
import { canonicalConversation } from './canonical.ts';
import { RecentCanonicals } from './recent-canonical.ts';

test('a body is read twice, then its form is known, and no other body, format or wish has it', () => {
  const recent = new RecentCanonicals();
  let reads = 0;
  const of = (text: string, dialect: 'openai-chat' | 'anthropic-messages' = 'openai-chat', part?: 'question') =>
    recent.of({ raw: Buffer.from(text), dialect, part }, (): Canonical => {
      reads += 1;
      return { fields: { text, dialect, wanted: String(part) } };
    });
  for (let round = 0; round < 5; round++) assert.deepEqual(of('a').fields.text, 'a');
  assert.equal(reads, 2);
  assert.deepEqual(of('a', 'anthropic-messages').fields.dialect, 'anthropic-messages');
  assert.deepEqual(of('a', 'openai-chat', 'question').fields.wanted, 'question');
  // Many more than there is room for.
  for (let n = 0; n < 5_000; n++) {
    for (let round = 0; round < 3; round++) assert.equal(of(`body ${n}`).fields.text, `body ${n}`);
  }
});

test('long bodies and long questions are read each time', () => {
  const recent = new RecentCanonicals();
  let reads = 0;
  const ask = (raw: Buffer, text: string) =>
    recent.of({ raw, dialect: 'openai-chat', part: 'question' }, () => {
      reads += 1;
      return { fields: {}, question: { text, before: '' } };
    });
  for (let round = 0; round < 4; round++) ask(Buffer.alloc(70_000, 'a'), 'short');
  for (let round = 0; round < 4; round++) ask(Buffer.from('b'), 'x'.repeat(5_000));
  assert.equal(reads, 8);
});

test('equal bytes in two formats have the form of each', () => {
  const raw = Buffer.from(
    '{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"stop_sequences":["x"]}',
  );
  for (let round = 0; round < 3; round++) {
    const [chat, messages] = (['openai-chat', 'anthropic-messages'] as const).map((dialect) => {
      const read = canonicalConversation(raw, dialect);
      return isFailure(read) ? assert.fail(dialect) : read.fields;
    });
    assert.notDeepEqual(chat, messages);
  }
});
