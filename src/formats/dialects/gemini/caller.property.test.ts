import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeRequest } from '../../../../test/fixtures/decode-request.ts';
import { isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import type { AnswerHead } from '../dialect.ts';
import { decodeStream, decodeWhole } from './decode-answer.ts';
import { sealSignature, unsealSignature } from './decode-messages.ts';
import { encodeStream, fold } from './encode-answer.ts';
import { encodeRequest } from './encode-request.ts';
import { gemini } from './index.ts';
import { pathModel, pathStream, withoutPathMembers, withPathMembers } from './path-members.ts';

const head: AnswerHead = {
  fallbackId: 'id',
  model: 'alias',
  createdS: 1,
  includeUsage: true,
  echo: { thoughts: 'shown' },
};
const target = { model: 'gemini-3-pro', maxOutputTokens: null, stream: true, omit: [] };

const text = fc.string({ minLength: 1, maxLength: 6 });
const args = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 });
const said = fc.oneof(
  text.map((one): NeutralEvent[] => [{ type: 'text-delta', choice: 0, text: one }]),
  text.map((one): NeutralEvent[] => [{ type: 'reasoning-delta', choice: 0, text: one }]),
  fc.tuple(text, args).map(([name, given]): NeutralEvent[] => {
    const json = JSON.stringify(given);
    const cut = Math.floor(json.length / 2);
    return [
      { type: 'tool-call-start', choice: 0, call: 0, id: name, name },
      { type: 'tool-call-delta', choice: 0, call: 0, argumentsJson: json.slice(0, cut) },
      { type: 'tool-call-delta', choice: 0, call: 0, argumentsJson: json.slice(cut) },
    ];
  }),
);
const answer = fc.array(said, { maxLength: 6 }).map((groups): NeutralEvent[] => {
  let calls = -1;
  const events = groups.flat().map((event): NeutralEvent => {
    if (event.type === 'tool-call-start') calls += 1;
    return event.type === 'tool-call-start' || event.type === 'tool-call-delta' ? { ...event, call: calls } : event;
  });
  return [
    { type: 'start', id: 'r', model: 'm', createdS: null },
    ...events,
    { type: 'finish', choice: 0, reason: calls >= 0 ? 'tool-calls' : 'stop', stopSequence: null },
    { type: 'usage', usage: { inputTokens: 7, outputTokens: 5, cachedInputTokens: 2, reasoningTokens: 3 } },
    { type: 'end' },
  ];
});

/** The text, pieces joined. */
function told(events: readonly NeutralEvent[]): unknown[] {
  const list: { kind: string; said: string }[] = [];
  for (const event of events) {
    if (event.type === 'text-delta' || event.type === 'reasoning-delta') {
      const last = list.at(-1);
      if (last?.kind === event.type) last.said += event.text;
      else list.push({ kind: event.type, said: event.text });
    } else if (event.type === 'tool-call-start') list.push({ kind: `call ${event.id} ${event.name}`, said: '' });
    else if (event.type === 'tool-call-delta') list.at(-1)!.said += event.argumentsJson;
    else if (event.type === 'finish') list.push({ kind: 'finish', said: event.reason });
    else if (event.type === 'usage') list.push({ kind: 'usage', said: JSON.stringify(event.usage) });
  }
  return list.map(({ kind, said: words }) => [kind, kind.startsWith('call') ? JSON.parse(words || '{}') : words]);
}

test('an answer told in this format reads as it was, streamed and whole', () => {
  fc.assert(
    fc.property(answer, (events) => {
      const encoder = encodeStream(head);
      const frames = events.map((event) => encoder.step(event)).join('');
      const decoder = decodeStream();
      const read = frames
        .split('\r\n\r\n')
        .filter((frame) => frame !== '')
        .flatMap((frame) => decoder.step({ event: '', data: frame.slice('data: '.length) }));
      read.push(...decoder.finish());
      const expected = JSON.parse(JSON.stringify(told(events)));
      assert.deepEqual(JSON.parse(JSON.stringify(told(read))), expected);
      const folded = fold(head);
      for (const event of events) folded.add(event);
      assert.deepEqual(JSON.parse(JSON.stringify(told(decodeWhole(folded.result())))), expected);
    }),
    { numRuns: 500 },
  );
});

test('nothing ends with a reason before the end is told', () => {
  fc.assert(
    fc.property(answer, (events) => {
      const encoder = encodeStream(head);
      const frames = events
        .slice(0, -1)
        .map((event) => encoder.step(event))
        .join('');
      assert.ok(!frames.includes('finishReason'));
    }),
  );
});

const callerPart = fc.oneof(
  fc.record({ text: fc.string() }),
  fc.record({ text: fc.string(), thought: fc.boolean(), thoughtSignature: fc.string() }),
  fc.record({ functionCall: fc.record({ name: text, args, id: fc.string() }, { requiredKeys: ['name'] }) }),
  fc.record({
    functionResponse: fc.record({ name: text, response: args, id: fc.string() }, { requiredKeys: ['name'] }),
  }),
  fc.record({ inlineData: fc.record({ mimeType: fc.constantFrom('image/png', 'audio/wav', 'x'), data: text }) }),
  fc.jsonValue(),
);
const body = fc.record(
  {
    contents: fc.oneof(
      fc.array(fc.record({ role: fc.constantFrom('user', 'model', undefined), parts: fc.array(callerPart) })),
      fc.jsonValue(),
    ),
    systemInstruction: fc.oneof(fc.record({ parts: fc.array(callerPart) }), fc.jsonValue()),
    tools: fc.oneof(fc.array(fc.record({ functionDeclarations: fc.jsonValue() })), fc.jsonValue()),
    toolConfig: fc.oneof(fc.record({ functionCallingConfig: fc.jsonValue() }), fc.jsonValue()),
    generationConfig: fc.oneof(
      fc.dictionary(fc.constantFrom('temperature', 'responseSchema', 'seed'), fc.jsonValue()),
      fc.jsonValue(),
    ),
  },
  { requiredKeys: ['contents'] },
);

test('any body is refused with a 400 that names a field, or can be sent on', () => {
  fc.assert(
    fc.property(body, (wire) => {
      const neutral = decodeRequest(gemini, JSON.parse(JSON.stringify(wire)) as JsonObject);
      if (isFailure(neutral)) assert.equal(neutral.kind, 'invalid-request');
      else {
        const encoded = encodeRequest(neutral, target);
        if (isFailure(encoded)) assert.equal(encoded.kind, 'invalid-request');
        else JSON.stringify(encoded.body);
      }
    }),
    { numRuns: 3_000 },
  );
});

test('a conversation comes out of the neutral form as it went in', () => {
  const contents = [
    { role: 'user', parts: [{ text: 'a' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
    {
      role: 'model',
      parts: [
        { functionCall: { id: 'c1', name: 'f', args: { x: 1 } }, thoughtSignature: 'c2ln' },
        { functionCall: { id: 'c2', name: 'g', args: {} } },
      ],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { id: 'c1', name: 'f', response: { output: 'one' } } },
        { functionResponse: { id: 'c2', name: 'g', response: { error: 'two' } } },
      ],
    },
  ];
  const neutral = decodeRequest(gemini, { contents, systemInstruction: { parts: [{ text: 's' }] } });
  assert.ok(!isFailure(neutral));
  const encoded = encodeRequest(neutral, target);
  assert.ok(!isFailure(encoded));
  assert.deepEqual(encoded, {
    body: { contents, systemInstruction: { parts: [{ text: 's' }] } },
    losses: [],
  });
});

test('calls without ids meet their responses by name and order', () => {
  const call = (name: string) => ({ functionCall: { name, args: {} } });
  const response = (name: string, output: string) => ({ functionResponse: { name, response: { output } } });
  const neutral = decodeRequest(gemini, {
    contents: [
      { parts: [{ text: 'q' }] },
      { role: 'model', parts: [call('f'), call('g'), call('f')] },
      { parts: [response('g', '2'), response('f', '1'), response('f', '3')] },
    ],
  });
  assert.ok(!isFailure(neutral));
  const [, calls, results] = neutral.messages;
  const ids = calls!.parts.map((part) => part.type === 'tool-call' && part.id);
  assert.equal(new Set(ids).size, 3);
  const [f1, g, f2] = ids;
  assert.deepEqual(
    results!.parts.map((part) => part.type === 'tool-result' && part.callId),
    [g, f1, f2],
  );
});

test('proofs of other vendors travel as base64 and are known again; Google’s own never are taken for them', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }).filter((one) => one.isWellFormed()),
      (signature) => {
        const sealed = sealSignature({ vendor: 'anthropic-messages', signature });
        assert.match(sealed, /^[A-Za-z0-9+/]+=*$/);
        assert.deepEqual(unsealSignature(sealed), { vendor: 'anthropic-messages', signature });
      },
    ),
  );
  for (const own of ['', 'CtQBAXLI2nw=', 'Y3VsdmVydDo=', 'skip_thought_signature_validator']) {
    assert.equal(unsealSignature(own), null);
  }
});

test('what the path says goes into the body and comes out again', () => {
  for (const raw of ['{"a":1}', ' \n{ "a" : 1}', '{}', '{ }', '{"model":"other"}']) {
    const model = 'mock/"x\\y';
    const joined = withPathMembers(Buffer.from(raw), model, true);
    assert.deepEqual(JSON.parse(joined.toString()), { [pathModel]: model, [pathStream]: true, ...JSON.parse(raw) });
    assert.equal(withoutPathMembers(joined)!.toString().replace(/\s/g, ''), raw.replace(/\s/g, ''));
  }
  for (const raw of ['', '[1]', '"x"', 'x{}']) {
    assert.equal(withPathMembers(Buffer.from(raw), 'm', false).toString(), raw);
  }
});

test('members spelled with underscores, as Google’s examples write them, are read; what callers name is left', () => {
  const schema = { type: 'OBJECT', properties: { max_tokens: { type: 'INTEGER' } } };
  const neutral = decodeRequest(gemini, {
    system_instruction: { parts: [{ text: 's' }] },
    contents: [
      { parts: [{ inline_data: { mime_type: 'image/png', data: 'AA==' } }] },
      { role: 'model', parts: [{ function_call: { name: 'do_it', args: { my_arg: 1 } }, thought_signature: 'c2ln' }] },
      { parts: [{ function_response: { name: 'do_it', response: { out_put: 1 } } }] },
    ],
    tools: [{ function_declarations: [{ name: 'do_it', parameters: schema }] }],
    tool_config: { function_calling_config: { mode: 'ANY', allowed_function_names: ['do_it'] } },
    generation_config: { max_output_tokens: 5, top_p: 0.5, thinking_config: { thinking_budget: 9 } },
  });
  assert.ok(!isFailure(neutral));
  const { messages, tools, toolChoice, maxOutputTokens, topP, reasoning, extensions } = neutral;
  assert.equal(messages.length, 4);
  assert.equal(messages[1]!.parts[0]!.type, 'image');
  const [call] = messages[2]!.parts;
  assert.ok(call?.type === 'tool-call' && call.argumentsJson === '{"my_arg":1}' && call.signature === 'c2ln');
  assert.deepEqual(tools![0]!.parameters, { type: 'object', properties: { max_tokens: { type: 'integer' } } });
  assert.deepEqual(toolChoice, { type: 'tool', name: 'do_it' });
  assert.deepEqual(
    { maxOutputTokens, topP, reasoning },
    { maxOutputTokens: 5, topP: 0.5, reasoning: { budgetTokens: 9 } },
  );
  assert.equal(extensions, undefined);
});

test('what only another dialect’s caller says is listed, and what Google alone knows comes back to it', () => {
  const neutral = decodeRequest(gemini, { contents: [{ parts: [{ text: 'x' }] }], newThing: 1, safetySettings: [] });
  assert.ok(!isFailure(neutral));
  assert.deepEqual(neutral.extensions, { gemini: { newThing: 1, safetySettings: [] } });
  const encoded = encodeRequest({ ...neutral, hints: { prediction: {} } }, target);
  assert.ok(!isFailure(encoded));
  assert.deepEqual([encoded.body.newThing, encoded.body.safetySettings], [1, []]);
  assert.deepEqual(encoded.losses, [{ field: 'prediction', why: 'unsupported' }]);
});
