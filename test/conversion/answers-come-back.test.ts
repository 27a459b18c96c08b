import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnswerHead, SharedDialectId } from '../../src/formats/dialects/dialect.ts';
import { dialects } from '../../src/formats/dialects/dialect-table.ts';
import type { ForwardTarget } from '../../src/formats/dialects/forward-target.ts';
import type { NeutralEvent } from '../../src/formats/neutral/event.ts';
import { producedMedia } from '../../src/formats/neutral/produced-media.ts';
import { isFailure } from '../../src/kernel/failure.ts';
import { type JsonObject, type JsonValue, scanJson } from '../../src/kernel/json.ts';
import { decodeRequest } from '../fixtures/decode-request.ts';

/*
 * An answer of Gemini's with a signed text and an image, as a caller of each format gets it and sends it back, and the
 * request that a provider of each format then gets: models continue from their own images.
 */

const drawn = 'iVBORw0KGgo=';
const signature = 'c2lnbmVk';
const answer: NeutralEvent[] = [
  { type: 'start', id: 'own', model: 'gemini-3-pro-image', createdS: null },
  { type: 'text-delta', choice: 0, text: 'Here.' },
  { type: 'text-signature', choice: 0, signature, vendor: 'gemini' },
  { type: 'media', choice: 0, media: producedMedia('image/png', drawn) },
  { type: 'finish', choice: 0, reason: 'stop', stopSequence: null },
  { type: 'usage', usage: { inputTokens: 3, outputTokens: 9 } },
  { type: 'end' },
];

const head: AnswerHead = { fallbackId: 'x_own', model: 'alias', createdS: 1_750_000_000, includeUsage: true };

/** The second turn of each format, as clients send it that keep what they got. */
const secondTurn: Readonly<Record<SharedDialectId, (answer: JsonObject) => JsonObject>> = {
  'openai-chat': ({ choices }) => ({
    model: 'alias',
    messages: [
      { role: 'user', content: 'Draw.' },
      (choices as { message: JsonObject }[])[0]!.message,
      { role: 'user', content: 'Darker.' },
    ],
  }),
  'openai-responses': ({ output }) => ({
    model: 'alias',
    input: [{ role: 'user', content: 'Draw.' }, ...(output as JsonObject[]), { role: 'user', content: 'Darker.' }],
  }),
  'anthropic-messages': ({ content }) => ({
    model: 'alias',
    max_tokens: 64,
    messages: [
      { role: 'user', content: 'Draw.' },
      { role: 'assistant', content: content! },
      { role: 'user', content: 'Darker.' },
    ],
  }),
  gemini: ({ candidates }) => ({
    model: 'alias',
    contents: [
      { role: 'user', parts: [{ text: 'Draw.' }] },
      (candidates as { content: JsonObject }[])[0]!.content,
      { role: 'user', parts: [{ text: 'Darker.' }] },
    ],
  }),
};

const callers = Object.keys(secondTurn) as SharedDialectId[];
const bodyOf = (caller: SharedDialectId) => {
  const fold = dialects[caller].fold(
    caller === 'anthropic-messages' ? { ...head, echo: { thoughts: 'shown', inputTokens: 3 } } : head,
  );
  for (const event of answer) fold.add(event);
  return secondTurn[caller](fold.result());
};

for (const caller of callers) {
  test(`${caller}: what Gemini signed and drew goes back to it`, () => {
    const decoded = decodeRequest(dialects[caller], bodyOf(caller));
    assert.ok(!isFailure(decoded), JSON.stringify(decoded));
    const sent = dialects.gemini.encodeRequest(decoded, targetOf('gemini-3-pro-image'));
    assert.ok(!isFailure(sent));
    const [, model] = sent.body.contents as { role: string; parts: JsonObject[] }[];
    assert.equal(model!.role, 'model');
    const text = model!.parts.find((part) => part.text === 'Here.')!;
    const picture = model!.parts.find((part) => part.inlineData !== undefined)!;
    assert.deepEqual(picture.inlineData, { mimeType: 'image/png', data: drawn });
    assert.equal(text.thoughtSignature, signature);
    assert.equal(picture.thoughtSignature, 'skip_thought_signature_validator', 'Google demands one on each picture');
  });

  for (const upstream of ['openai-chat', 'openai-responses', 'anthropic-messages'] as const) {
    test(`${caller} over ${upstream}: the picture is shown by the user, where all models look at pictures`, () => {
      const decoded = decodeRequest(dialects[caller], bodyOf(caller));
      assert.ok(!isFailure(decoded), JSON.stringify(decoded));
      const sent = dialects[upstream].encodeRequest(decoded, targetOf('a-model'));
      assert.ok(!isFailure(sent));
      const turns = (sent.body.messages ?? sent.body.input) as JsonObject[];
      const holding = turns.filter((turn) => JSON.stringify(turn).includes(drawn));
      assert.deepEqual(
        holding.map(({ role }) => role),
        ['user'],
      );
      assert.equal(turns.filter(({ role }) => role === 'assistant').length, 1);
    });
  }
}

const native: ForwardTarget = {
  model: 'up',
  maxOutputTokens: null,
  body: {},
  streamUsage: 'leave',
  omit: [],
  rename: {},
};

for (const caller of ['openai-responses', 'anthropic-messages'] as const) {
  test(`${caller} over its own format: the picture that another provider's model drew is shown by the user`, () => {
    const body = bodyOf(caller);
    const raw = Buffer.from(JSON.stringify(body));
    const read = dialects[caller].readRequest(raw, body, scanJson(raw, 64));
    assert.ok(!isFailure(read));
    const sent = JSON.parse(read.forward(native).bytes.toString()) as JsonObject;
    const turns = (sent.messages ?? sent.input) as JsonObject[];
    const holding = turns.filter((turn: JsonValue) => JSON.stringify(turn).includes(drawn));
    assert.deepEqual(
      holding.map(({ role }) => role),
      ['user'],
    );
    assert.ok(!JSON.stringify(sent).includes('culvert'), 'the signature goes to its vendor alone');
  });
}

function targetOf(model: string) {
  return { model, maxOutputTokens: null, stream: false, omit: [] };
}
