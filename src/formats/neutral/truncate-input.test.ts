import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { NeutralMessage, NeutralPart } from './request.ts';
import { truncatedInput } from './truncate-input.ts';

const words = (count: number): NeutralPart => ({ type: 'text', text: 'word '.repeat(count) });
const user = (count: number): NeutralMessage => ({ role: 'user', parts: [words(count)] });
const assistant = (count: number): NeutralMessage => ({ role: 'assistant', parts: [words(count)] });
const system = (count: number): NeutralMessage => ({ role: 'system', parts: [words(count)] });
const call = (id: string): NeutralMessage => ({
  role: 'assistant',
  parts: [{ type: 'tool-call', id, name: 'read', argumentsJson: '{}' }],
});
const result = (id: string, count: number): NeutralMessage => ({
  role: 'tool',
  parts: [{ type: 'tool-result', callId: id, parts: [words(count)], isError: false }],
});
const kept = (messages: NeutralMessage[], window: number, maxOutputTokens = 16) =>
  truncatedInput({ model: 'm', stream: false, includeUsage: false, messages, maxOutputTokens }, window);

test('what fits stays as it is', () => {
  assert.equal(kept([system(10), user(100), assistant(100), user(10)], 1_000), null);
});

test('the oldest turns go whole, and as few as need be', () => {
  const messages = [system(10), user(100), assistant(100), user(100), assistant(100), user(10)];
  assert.deepEqual(kept(messages, 450), [0, 3, 4, 5]);
  assert.deepEqual(kept(messages, 100), [0, 5]);
});

test('within one turn of many calls, the oldest calls go with their results', () => {
  const messages = [
    system(1),
    user(20),
    call('a'),
    result('a', 200),
    call('b'),
    result('b', 200),
    call('c'),
    result('c', 50),
  ];
  assert.deepEqual(kept(messages, 500), [0, 1, 4, 5, 6, 7]);
  assert.deepEqual(kept(messages, 200), [0, 1, 6, 7]);
});

test('nothing that can go makes it fit: the rest stays for the provider to judge', () => {
  assert.equal(kept([system(1_000), user(1_000)], 100), null);
});

test('a result never loses its call, the other way round neither, and what must stay stays', () => {
  const ids = fc.constantFrom('a', 'b', 'c', 'd');
  const message = fc.oneof(
    fc.nat(60).map(user),
    fc.nat(60).map(assistant),
    fc.nat(20).map(system),
    ids.map(call),
    fc.tuple(ids, fc.nat(60)).map(([id, count]) => result(id, count)),
  );
  fc.assert(
    fc.property(
      fc.array(message, { minLength: 1, maxLength: 24 }),
      fc.integer({ min: 30, max: 1_500 }),
      (all, window) => {
        // Each call once.
        const seen = new Set<string>();
        const messages = all.filter(({ parts: [part] }) => {
          if (part?.type !== 'tool-call') return part?.type !== 'tool-result' || seen.has(part.callId);
          return !seen.has(part.id) && seen.add(part.id) !== undefined;
        });
        const left = kept(messages, window);
        if (left === null) return;
        assert.deepEqual(
          left,
          left.toSorted((a, b) => a - b),
        );
        const stays = new Set(left);
        const placeOfCall = new Map<string, number>();
        for (const [
          index,
          {
            role,
            parts: [part],
          },
        ] of messages.entries()) {
          if (role === 'system') assert.ok(stays.has(index));
          if (part?.type === 'tool-call') placeOfCall.set(part.id, index);
          if (part?.type === 'tool-result') assert.equal(stays.has(index), stays.has(placeOfCall.get(part.callId)!));
        }
        const lastAsked = messages.findLastIndex(({ role }) => role === 'user');
        if (lastAsked >= 0) assert.ok(stays.has(lastAsked));
        assert.ok(stays.has(messages.length - 1));
      },
    ),
  );
});
