import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { call, result, say, text } from '../../../test/fixtures/encode-messages.ts';
import { pairToolCalls } from './pair-tool-calls.ts';
import type { NeutralMessage } from './request.ts';

/** The conversation as one word a part: `a` calls, `a=1` answers, `a!` is a result that says there was none. */
function shown(messages: readonly NeutralMessage[]): string[] {
  return messages.map(({ role, parts }) => {
    const words = parts.map((part) => {
      if (part.type === 'tool-call') return part.id;
      if (part.type !== 'tool-result') return part.type === 'text' ? `"${part.text}"` : part.type;
      const [only] = part.parts;
      return part.isError ? `${part.callId}!` : `${part.callId}=${only?.type === 'text' ? only.text : ''}`;
    });
    return `${role}: ${words.join(' ')}`;
  });
}

const called = (id: string) => call(id, '{}');
const answered = (id: string, word: string) => say('tool', result(id, text(word)));

test('a result moves up to its call, past what the user said meanwhile, in the order of the calls', () => {
  const { messages, losses } = pairToolCalls([
    say('user', 'go'),
    say('assistant', called('a'), called('b')),
    say('user', 'hurry'),
    answered('b', '2'),
    answered('a', '1'),
  ]);
  assert.deepEqual(shown(messages), ['user: "go"', 'assistant: a b', 'tool: a=1', 'tool: b=2', 'user: "hurry"']);
  const places = messages.map(({ place }, at) => place ?? at);
  assert.deepEqual([places, losses], [[0, 1, 4, 3, 2], []]);
});

test('a missing result is said to be missing, one without its call is the user’s text; both are named by their place', () => {
  const { messages, losses } = pairToolCalls([
    answered('z', 'early'),
    say('assistant', 'so', called('a'), called('b')),
    answered('b', '2'),
    say('assistant', 'then'),
    answered('b', 'again'),
  ]);
  assert.deepEqual(shown(messages), [
    'user: "[the tool call z, which is not shown, answered:]" "early"',
    'assistant: "so" a b',
    'tool: a!',
    'tool: b=2',
    'assistant: "then"',
    'user: "[the tool call b, which is not shown, answered:]" "again"',
  ]);
  assert.deepEqual(
    losses.map(({ field }) => field),
    ['messages[0].tool_call_id', 'messages[1].tool_calls[0]', 'messages[4].tool_call_id'],
  );
});

test('calls in several messages of the assistant in a row are one turn, and all their results count', () => {
  const turn = [
    say('assistant', called('a')),
    say('assistant', 'and', called('b')),
    answered('a', '1'),
    answered('b', '2'),
  ];
  const { messages, losses } = pairToolCalls([say('user', 'go'), ...turn]);
  assert.deepEqual(shown(messages), ['user: "go"', 'assistant: a "and" b', 'tool: a=1', 'tool: b=2']);
  assert.deepEqual(losses, []);
});

test('calls of one id have their results in order, and an id each', () => {
  const { messages } = pairToolCalls([
    say('assistant', called('a'), called('a')),
    answered('a', '1'),
    answered('a', '2'),
    say('assistant', called('a'), called('a_2')),
    answered('a_2', '4'),
    answered('a', '3'),
  ]);
  assert.deepEqual(shown(messages), [
    'assistant: a a_2',
    'tool: a=1',
    'tool: a_2=2',
    'assistant: a_3 a_2_2',
    'tool: a_3=3',
    'tool: a_2_2=4',
  ]);
});

test('whatever the conversation is, each call is answered once and at once, and no word is lost', () => {
  const id = fc.constantFrom('a', 'b', 'c');
  const part = fc.oneof(
    id.map(called),
    fc.tuple(id, fc.stringMatching(/^w\d{6}$/)).map(([callId, word]) => result(callId, text(word))),
    fc.stringMatching(/^w\d{6}$/).map(text),
  );
  const message = fc.record({
    role: fc.constantFrom('user' as const, 'assistant' as const, 'tool' as const, 'system' as const),
    parts: fc.array(part, { maxLength: 4 }),
  });
  fc.assert(
    fc.property(fc.array(message, { maxLength: 8 }), (given) => {
      const conversation = given.map(({ role, parts }) => ({
        role,
        parts: parts.filter(({ type }) => (type === 'tool-call') === (role === 'assistant') || type === 'text'),
      }));
      const { messages } = pairToolCalls(conversation);
      messages.forEach((one, at) => {
        const calls = one.parts.filter(({ type }) => type === 'tool-call');
        const behind = messages.slice(at + 1, at + 1 + calls.length).map(({ parts }) => parts[0]);
        assert.deepEqual(
          behind.map((answer) => answer?.type === 'tool-result' && answer.callId),
          calls.map((made) => made.type === 'tool-call' && made.id),
        );
      });
      const results = messages.flatMap(({ parts }) => parts.filter(({ type }) => type === 'tool-result'));
      const calls = messages.flatMap(({ parts }) => parts.filter(({ type }) => type === 'tool-call'));
      assert.equal(results.length, calls.length);
      for (const [word] of JSON.stringify(conversation).matchAll(/w\d{6}/g)) {
        assert.ok(JSON.stringify(messages).includes(word), word);
      }
    }),
    { numRuns: 300 },
  );
});

test('ten times as many calls and results of one turn take about ten times as long', () => {
  // By the processor's time, since a busy machine gives it late. Each call looked for among all results took a hundred times.
  const costOf = (count: number): number => {
    const ids = Array.from({ length: count }, (_, at) => `call_${at % (count / 2)}`);
    const turns = [say('assistant', ...ids.map(called)), ...ids.toReversed().map((id) => answered(id, 'x'))];
    const before = process.cpuUsage();
    const { messages } = pairToolCalls(turns);
    assert.equal(messages.length, count + 1);
    return process.cpuUsage(before).user;
  };
  const few = Math.min(...[1, 2, 3].map(() => costOf(10_000)));
  const many = costOf(100_000);
  assert.ok(many < 50 * few, `${many} µs, and ${few} µs for a tenth of it`);
});
