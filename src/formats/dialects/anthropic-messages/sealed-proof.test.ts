import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeRequest } from '../../../../test/fixtures/decode-request.ts';
import { isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import type { NeutralPart } from '../../neutral/request.ts';
import type { AnswerHead } from '../dialect.ts';
import { fold } from './encode-answer.ts';
import { anthropicMessages } from './index.ts';
import { seal, unseal, withoutProof, withProof } from './sealed-proof.ts';

const vendor = fc.constantFrom('gemini', 'openai-responses', 'thought');
const payload = fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }).filter((text) => text.isWellFormed());

test('what is sealed comes out as it was, and what others signed is left alone', () => {
  fc.assert(
    fc.property(vendor, payload, (by, text) => {
      assert.deepEqual(unseal(seal({ vendor: by, payload: text })), { vendor: by, payload: text });
    }),
  );
  for (const foreign of [
    '',
    'EqQBCkgIARABGAIiQ',
    'culvert.',
    'culvert.gemini',
    'culvert.Gemini.aa',
    'xculvert.gemini.aa',
  ]) {
    assert.equal(unseal(foreign), null, foreign);
  }
});

test("a proof in a call's id leaves it what Anthropic takes for one, and comes out again", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[\w-]{1,40}$/), vendor, payload, (id, by, text) => {
      const proof = { vendor: by, payload: text };
      const carried = withProof(id, proof);
      assert.match(carried, /^[\w-]+$/);
      if (!id.includes('__cv_')) assert.deepEqual(withoutProof(carried), { id, proof });
    }),
  );
  assert.deepEqual(withoutProof('toolu_01__cv_'), { id: 'toolu_01__cv_', proof: null });
  assert.deepEqual(withoutProof('a b__cv_gemini_!__cv_gemini_eA__cv_thought_eA'), {
    id: 'a b__cv_gemini_!',
    proof: { vendor: 'gemini', payload: Buffer.from('eA__cv_thought_eA', 'base64url').toString() },
  });
  assert.equal(withProof('id', { vendor: 'gemini', payload: 'x'.repeat(40_000) }), 'id');
});

test('an id that repeats the mark is read in no time', () => {
  const id = `${'__cv_a_'.repeat(40_000)}!`;
  const startMs = performance.now();
  assert.deepEqual(withoutProof(id), { id, proof: null });
  assert.ok(performance.now() - startMs < 1_000, `${performance.now() - startMs} ms`);
});

/** The assistant's parts of the next request, when a client sends them back unchanged. */
function roundTrip(events: readonly NeutralEvent[], thoughts: string): readonly NeutralPart[] {
  const head: AnswerHead = {
    fallbackId: 'm',
    model: 'm',
    createdS: 0,
    includeUsage: true,
    echo: { thoughts, inputTokens: 0 },
  };
  const answer = fold(head);
  for (const event of [...events, { type: 'end' } as const]) answer.add(event);
  const { content } = answer.result();
  const results = (content as JsonObject[])
    .filter(({ type }) => type === 'tool_use')
    .map(({ id }): JsonObject => ({ type: 'tool_result', tool_use_id: id!, content: 'x' }));
  const next = decodeRequest(anthropicMessages, {
    model: 'm',
    max_tokens: 5,
    messages: [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: content! },
      { role: 'user', content: [...results, { type: 'text', text: 'And?' }] },
    ],
  });
  assert.ok(!isFailure(next), JSON.stringify(next));
  assert.equal(next.lost, undefined);
  return next.messages[1]!.parts;
}

test("AC-16 Gemini's proofs round-trip: over a thought, and on the call that it led to", () => {
  const events: NeutralEvent[] = [
    { type: 'reasoning-delta', choice: 0, text: 'hm' },
    { type: 'reasoning-signature', choice: 0, signature: 'proof+1==', vendor: 'gemini' },
    { type: 'tool-call-start', choice: 0, call: 0, id: 'c1', name: 'get', signature: 'proof/2==', vendor: 'gemini' },
    { type: 'tool-call-delta', choice: 0, call: 0, argumentsJson: '{"a":1}' },
  ];
  const call: NeutralPart = {
    type: 'tool-call',
    id: 'c1',
    name: 'get',
    argumentsJson: '{"a":1}',
    signature: 'proof/2==',
    vendor: 'gemini',
  };
  assert.deepEqual(roundTrip(events, 'shown'), [
    { type: 'reasoning', text: 'hm', signature: 'proof+1==', vendor: 'gemini' },
    call,
  ]);
  assert.deepEqual(roundTrip(events, 'sealed'), [
    { type: 'reasoning', text: '', signature: 'proof+1==', vendor: 'gemini' },
    call,
  ]);
  assert.deepEqual(roundTrip(events, 'hidden'), [call]);
});

test("AC-16 Responses' encrypted reasoning, and thoughts of those who prove nothing, round-trip", () => {
  const encrypted: NeutralEvent[] = [
    { type: 'redacted-reasoning', choice: 0, data: 'gAAAA', vendor: 'openai-responses' },
    { type: 'text-delta', choice: 0, text: 'Hi' },
  ];
  assert.deepEqual(roundTrip(encrypted, 'shown')[0], {
    type: 'redacted-reasoning',
    data: 'gAAAA',
    vendor: 'openai-responses',
  });
  const plain: NeutralEvent[] = [
    { type: 'reasoning-delta', choice: 0, text: 'so — ' },
    { type: 'reasoning-delta', choice: 0, text: 'yes' },
    { type: 'text-delta', choice: 0, text: 'Hi' },
  ];
  for (const thoughts of ['shown', 'sealed']) {
    assert.deepEqual(roundTrip(plain, thoughts)[0], { type: 'reasoning', text: 'so — yes' }, thoughts);
  }
});
