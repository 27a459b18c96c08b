import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { messageOfFrames } from '../../../../test/conversion/message-of-frames.ts';
import { decodeRequest } from '../../../../test/fixtures/decode-request.ts';
import { isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, scanJson } from '../../../kernel/json.ts';
import type { FinishReason, NeutralEvent } from '../../neutral/event.ts';
import type { AnswerHead } from '../dialect.ts';
import { openAiChat } from '../openai-chat/index.ts';
import { anthropicMessages } from './index.ts';

/* Whatever a caller says reaches the target or is in the loss report, and whatever an answer says is balanced. */

const word = fc.stringMatching(/^[a-z]{3,12}$/);
const cache = fc.constantFrom({}, { cache_control: { type: 'ephemeral' } });
const textBlock = fc.tuple(word, cache).map(([text, more]) => ({ type: 'text', text, ...more }));
const imageBlock = word.map((data) => ({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }));
const pdfBlock = word.map((data) => ({
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data },
}));
const letterBlock = fc.tuple(word, word, word).map(([data, title, context]) => ({
  type: 'document',
  source: { type: 'text', media_type: 'text/plain', data },
  title,
  context,
}));
const searchBlock = fc
  .tuple(word, word, word)
  .map(([title, source, text]) => ({ type: 'search_result', title, source, content: [{ type: 'text', text }] }));
const unknownBlock = word.map((type) => ({ type: `new_${type}`, of: 1 }));
const said = fc.array(fc.oneof(textBlock, imageBlock, pdfBlock, letterBlock, searchBlock, unknownBlock), {
  minLength: 1,
  maxLength: 3,
});

const exchange = fc
  .record({
    question: fc.oneof(word, said),
    thought: fc.option(word),
    answer: word,
    calls: fc.array(fc.record({ name: word, argument: word, result: fc.oneof(word, said), failed: fc.boolean() }), {
      maxLength: 3,
    }),
    aside: fc.option(word),
  })
  .map(({ question, thought, answer, calls, aside }) => (round: number): JsonObject[] => {
    const id = (i: number) => `toolu_${round}_${i}`;
    const blocks: JsonObject[] = [{ type: 'text', text: answer }];
    if (thought !== null) blocks.unshift({ type: 'thinking', thinking: thought, signature: '' });
    calls.forEach(({ name, argument }, i) => {
      blocks.push({ type: 'tool_use', id: id(i), name, input: { argument } });
    });
    const results = calls.map(({ result, failed }, i) => ({
      type: 'tool_result',
      tool_use_id: id(i),
      content: result,
      is_error: failed,
    }));
    return [
      { role: 'user', content: question },
      ...(aside === null ? [] : [{ role: 'system', content: aside }]),
      { role: 'assistant', content: blocks },
      ...(results.length === 0 ? [] : [{ role: 'user', content: results }]),
    ];
  });

const request = fc
  .record({
    rounds: fc.array(exchange, { maxLength: 4 }),
    last: word,
    system: fc.option(fc.oneof(word, fc.array(textBlock, { minLength: 1, maxLength: 3 }))),
    tools: fc.option(
      fc.array(
        fc.tuple(word, word).map(([name, description]) => ({ name, description, input_schema: { type: 'object' } })),
        { minLength: 1, maxLength: 3 },
      ),
    ),
    unknown: fc.dictionary(fc.stringMatching(/^new_[a-z]{3,8}$/), fc.jsonValue(), { maxKeys: 2 }),
    stop: fc.option(fc.array(word, { minLength: 1, maxLength: 6 })),
  })
  .map(
    ({ rounds, last, system, tools, unknown, stop }): JsonObject => ({
      model: 'alias',
      max_tokens: 100,
      messages: [...rounds.flatMap((messages, round) => messages(round)), { role: 'user', content: last }],
      ...(system !== null && { system }),
      ...(tools !== null && { tools }),
      ...(stop !== null && { stop_sequences: stop }),
      ...(unknown as JsonObject),
    }),
  );

/** Every string that a person or tool said, of the places that carry words. */
function wordsOf(value: JsonValue | undefined, key = ''): string[] {
  if (typeof value === 'string')
    return ['type', 'role', 'media_type', 'id', 'tool_use_id', 'model'].includes(key) ? [] : [value];
  if (Array.isArray(value)) return value.flatMap((item) => wordsOf(item, key));
  return isObject(value) ? Object.keys(value).flatMap((name) => wordsOf(value[name], name)) : [];
}

test('every word of a request is in the chat body, or its field is in the loss report', () => {
  fc.assert(
    fc.property(request, (body) => {
      const decoded = decodeRequest(anthropicMessages, body);
      assert.ok(!isFailure(decoded), JSON.stringify(decoded));
      const encoded = openAiChat.encodeRequest(decoded, {
        model: 'up',
        maxOutputTokens: null,
        stream: true,
        omit: [],
      });
      assert.ok(!isFailure(encoded), JSON.stringify(encoded));
      const sent = JSON.stringify(encoded.body);
      const lost = [...(decoded.lost ?? []), ...encoded.losses].map(({ field }) => field);
      const { messages, system, tools, stop_sequences: stop } = body;
      for (const word of wordsOf([messages, system ?? '', tools ?? ''] as JsonValue)) {
        // Text documents are told as text, and of pictures and files the bytes stand in their URL.
        assert.ok(sent.includes(word), `${word} is missing in ${sent}`);
      }
      if (((stop ?? []) as string[]).length > 4) assert.ok(lost.includes('stop'));
      else for (const word of (stop ?? []) as string[]) assert.ok(sent.includes(word));
      for (const name of Object.keys(body))
        if (name.startsWith('new_') && body[name] !== null) assert.ok(lost.includes(name), name);
      for (const block of (messages as JsonObject[]).flatMap(
        ({ content }) => (Array.isArray(content) ? content : []) as JsonObject[],
      )) {
        if (String(block.type).startsWith('new_')) assert.ok(lost.includes(`messages.${block.type}`));
      }
    }),
    { numRuns: 300 },
  );
});

test('decoded and encoded as Messages again, a request says the same', () => {
  fc.assert(
    fc.property(request, (body) => {
      const decoded = decodeRequest(anthropicMessages, body);
      assert.ok(!isFailure(decoded));
      const encoded = anthropicMessages.encodeRequest(decoded, {
        model: 'up',
        maxOutputTokens: null,
        stream: false,
        omit: [],
      });
      assert.ok(!isFailure(encoded), JSON.stringify(encoded));
      const lost = [...(decoded.lost ?? []), ...encoded.losses].map(({ field }) => field).join();
      const sent = JSON.stringify(encoded.body);
      // Unsigned thoughts are refused by Anthropic; of documents the text goes in another block.
      const kept = wordsOf([body.system ?? '', body.tools ?? '', body.messages!] as JsonValue).filter(
        (word) => !sent.includes(word),
      );
      if (kept.length > 0) assert.match(lost, /reasoning_content/, kept.join());
      for (const name of Object.keys(body))
        if (name.startsWith('new_') && body[name] !== null) assert.ok(name in encoded.body);
    }),
    { numRuns: 300 },
  );
});

test('the bytes for Anthropic say what the caller said, but for the model and what it would refuse', () => {
  fc.assert(
    fc.property(request, (body) => {
      const raw = Buffer.from(JSON.stringify(body));
      const parsed = JSON.parse(raw.toString()) as JsonObject;
      const read = anthropicMessages.readRequest(raw, parsed, scanJson(raw, 64));
      assert.ok(!isFailure(read));
      const { bytes, losses } = read.forward({
        model: 'claude-opus-4-8',
        maxOutputTokens: null,
        body: {},
        streamUsage: 'leave',
        omit: [],
        rename: {},
      });
      const sent = JSON.parse(bytes.toString()) as JsonObject;
      const { messages: _, ...rest }: JsonObject = { ...parsed, model: 'claude-opus-4-8' };
      const { messages, ...others } = sent;
      assert.deepEqual(others, rest);
      if (losses.length === 0) assert.deepEqual(messages, parsed.messages);
      else assert.ok(!JSON.stringify(messages).includes('"thinking"'));
    }),
    { numRuns: 300 },
  );
});

const finish: fc.Arbitrary<FinishReason> = fc.constantFrom(
  'stop',
  'stop-sequence',
  'length',
  'tool-calls',
  'content-filter',
  'pause',
  'context-full',
);
const choice = fc.constantFrom(0, 0, 0, 0, 1);
const event: fc.Arbitrary<NeutralEvent> = fc.oneof(
  fc.record({ type: fc.constant('text-delta' as const), choice, text: fc.string() }),
  fc.record({ type: fc.constant('reasoning-delta' as const), choice, text: fc.string() }),
  fc.record({
    type: fc.constant('reasoning-signature' as const),
    choice,
    signature: word,
    vendor: fc.constantFrom('gemini', 'anthropic-messages'),
  }),
  fc.record({
    type: fc.constant('redacted-reasoning' as const),
    choice,
    data: word,
    vendor: fc.constant('openai-responses'),
  }),
  fc.record({ type: fc.constant('refusal-delta' as const), choice, text: fc.string() }),
  fc.record({ type: fc.constant('part-end' as const), choice }),
  fc.record({
    type: fc.constant('citation' as const),
    choice,
    citation: fc.constant({ url: 'https://x.example', title: '', quote: '' }),
  }),
  fc.record({ type: fc.constant('logprobs' as const), choice, logprobs: fc.constant(null) }),
  fc.record({ type: fc.constant('finish' as const), choice, reason: finish, stopSequence: fc.constant(null) }),
  fc.record({
    type: fc.constant('usage' as const),
    usage: fc.record({ inputTokens: fc.nat(99), outputTokens: fc.nat(99), cachedInputTokens: fc.nat(200) }),
  }),
);
/** Calls are announced in order, and their arguments come in any. */
const answer = fc
  .tuple(
    fc.array(event, { maxLength: 12 }),
    fc.array(fc.array(fc.constantFrom('{', '"a":', '1', '}', '{}'), { maxLength: 4 }), { maxLength: 4 }),
    fc.infiniteStream(fc.nat(99)),
  )
  .map(([events, calls, chance]) => {
    const woven: NeutralEvent[] = [...events];
    let from = 0;
    calls.forEach((pieces, call) => {
      from += chance.next().value % (woven.length + 1 - from);
      woven.splice(from++, 0, { type: 'tool-call-start', choice: 0, call, id: `id-${call}`, name: `tool-${call}` });
      let at = from;
      for (const argumentsJson of pieces) {
        at += chance.next().value % (woven.length + 1 - at);
        woven.splice(at++, 0, { type: 'tool-call-delta', choice: 0, call, argumentsJson });
      }
    });
    return { woven, calls };
  });

test('whatever an answer says, its frames are balanced, nothing of it is lost, and it folds to our whole answer', () => {
  fc.assert(
    fc.property(answer, fc.constantFrom('shown', 'sealed', 'hidden'), ({ woven, calls }, thoughts) => {
      const head: AnswerHead = {
        fallbackId: 'msg_1',
        model: 'alias',
        createdS: 0,
        includeUsage: true,
        echo: { thoughts, inputTokens: 3 },
      };
      const encoder = anthropicMessages.encodeStream(head);
      const fold = anthropicMessages.fold(head);
      let frames = '';
      for (const one of [...woven, { type: 'end' } as const]) {
        frames += encoder.step(one);
        fold.add(one);
      }
      const { message, ended } = messageOfFrames(frames);
      assert.ok(ended);
      assert.deepEqual(message, fold.result());
      const content = message.content as JsonObject[];
      const made = content.filter(({ type }) => type === 'tool_use');
      assert.deepEqual(
        made.map(({ name }) => name),
        calls.map((_, i) => `tool-${i}`),
      );
      const text = content
        .filter(({ type }) => type === 'text')
        .map(({ text }) => text)
        .join('');
      const saidText = woven
        .map((one) => ((one.type === 'text-delta' || one.type === 'refusal-delta') && one.choice === 0 ? one.text : ''))
        .join('');
      assert.equal(text, saidText);
      const seen = content
        .filter(({ type }) => type === 'thinking')
        .map(({ thinking }) => thinking)
        .join('');
      const thought = woven.map((one) => (one.type === 'reasoning-delta' && one.choice === 0 ? one.text : '')).join('');
      assert.equal(seen, thoughts === 'shown' ? thought : '');
      // Arguments that never were an object are given unchanged; the others by their meaning.
      made.forEach(({ input }, i) => {
        const written = calls[i]!.join('');
        if (written === '{}' || written === '') assert.deepEqual(input, {});
      });
    }),
    { numRuns: 1_000 },
  );
});

test('a body of any shape is refused with a 400 or can be sent on', () => {
  const odd: fc.Arbitrary<JsonValue> = fc.oneof(
    fc.jsonValue() as fc.Arbitrary<JsonValue>,
    fc.constantFrom('', 'x', 0, -1, null, [], {}),
  );
  const anyBlock = fc.dictionary(
    fc.constantFrom(
      'type',
      'text',
      'source',
      'id',
      'name',
      'input',
      'content',
      'tool_use_id',
      'thinking',
      'data',
      'cache_control',
    ),
    fc.oneof(odd, fc.constantFrom('text', 'image', 'document', 'tool_use', 'tool_result', 'thinking', 'search_result')),
  );
  const body = fc.record(
    {
      model: fc.oneof(fc.constant('m'), odd),
      max_tokens: fc.oneof(fc.constant(5), odd),
      messages: fc.oneof(
        odd,
        fc.array(
          fc.record({
            role: fc.constantFrom('user', 'assistant', 'system', 'tool'),
            content: fc.oneof(odd, fc.array(anyBlock, { maxLength: 3 })),
          }),
          { minLength: 1, maxLength: 3 },
        ),
      ),
      system: fc.oneof(odd, fc.array(anyBlock, { maxLength: 2 })),
      tools: fc.oneof(
        odd,
        fc.array(fc.dictionary(fc.constantFrom('name', 'input_schema', 'type'), odd), { maxLength: 2 }),
      ),
      tool_choice: odd,
      thinking: odd,
      output_config: odd,
      metadata: odd,
      stop_sequences: odd,
    },
    { requiredKeys: ['model', 'max_tokens', 'messages'] },
  );
  fc.assert(
    fc.property(body, (generated) => {
      const raw = Buffer.from(JSON.stringify(generated));
      const parsed = JSON.parse(raw.toString()) as JsonObject;
      const read = anthropicMessages.readRequest(raw, parsed, scanJson(raw, 64));
      if (isFailure(read)) {
        assert.equal(read.kind, 'invalid-request');
        return;
      }
      if ((read.extras?.nativeOnly ?? null) === null) {
        const encoded = openAiChat.encodeRequest(read.neutral(), {
          model: 'up',
          maxOutputTokens: null,
          stream: true,
          omit: [],
        });
        if (!isFailure(encoded)) JSON.stringify(encoded.body);
      }
      JSON.parse(
        read
          .forward({ model: 'up', maxOutputTokens: 3, body: {}, streamUsage: 'leave', omit: [], rename: {} })
          .bytes.toString(),
      );
    }),
    { numRuns: 5_000 },
  );
});
