import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertWithin } from '../../../../test/machine-load.ts';
import { lostMember, type NeutralEvent } from '../../../formats/neutral/event.ts';
import { HeldEvents } from './held-events.ts';

const piece = (text: string): NeutralEvent => ({ type: 'text-delta', choice: 0, text });
const textOf = (events: readonly NeutralEvent[]) => events.map((event) => ('text' in event ? event.text : '')).join('');

test('sentences are complete, however their text is cut', () => {
  const text = 'It rains. "Does it?") It does!\n 雨。 And then nothing';
  fc.assert(
    fc.property(fc.array(fc.nat(text.length)), (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), text.length];
      const held = new HeldEvents();
      let taken = '';
      for (const [at, end] of places.slice(1).entries()) {
        held.add(piece(text.slice(places[at], end)));
        taken += textOf(held.takeComplete('first'));
      }
      assert.equal(taken + textOf(held.takeAll()), text);
      assert.match(taken.trimEnd(), /雨。$/);
    }),
  );
});

test('a text goes on in its next part, up to the end of a sentence', () => {
  const held = new HeldEvents();
  for (const event of [piece('Ask jo@exam'), { type: 'part-end', choice: 0 } as const]) held.add(event);
  assert.deepEqual(held.takeComplete('first'), []);
  held.add(piece('ple.org today. Or'));
  assert.equal(textOf(held.takeComplete('first')), 'Ask jo@example.org today. ');
  assert.equal(textOf(held.takeAll()), 'Or');
});

test('a text goes on behind a member of the answer', () => {
  const held = new HeldEvents();
  held.add({ type: 'text-delta', choice: 0, text: 'To jo@exa' });
  held.add(lostMember('images'));
  assert.deepEqual(held.takeComplete('first'), []);
});

const start = (call: number): NeutralEvent => ({ type: 'tool-call-start', choice: 0, call, id: `${call}`, name: 'f' });

test('calls whose arguments never end are looked at once each, however many there are', () => {
  const held = new HeldEvents();
  const startedMs = performance.now();
  for (let call = 0; call < 40_000; call++) {
    held.add(start(call));
    held.add({ type: 'tool-call-delta', choice: 0, call, argumentsJson: '{"to":' });
    assert.deepEqual(held.takeComplete('later'), []);
  }
  assertWithin(performance.now() - startedMs, 500);
});

test('calls whose arguments come by turns are complete together', () => {
  const held = new HeldEvents();
  const add = (call: number, argumentsJson: string) =>
    held.add({ type: 'tool-call-delta', choice: 0, call, argumentsJson });
  held.add(start(0));
  add(0, '{"to":"jo@exam');
  held.add(start(1));
  add(1, '{"to":"ann@exam');
  assert.deepEqual(held.takeComplete('first'), []);
  add(0, 'ple.org"}');
  add(1, 'ple.net"}');
  assert.deepEqual(held.takeComplete('first'), []);
  held.add(start(2));
  assert.equal(held.takeComplete('first').length, 6);
});

test('each event is looked at once, however many wait for the end of a sentence', () => {
  const held = new HeldEvents();
  let reads = 0;
  for (let count = 1; count <= 1_000; count++) {
    held.add({
      ...piece(''),
      get text() {
        reads += 1;
        return 'abc';
      },
    } as NeutralEvent);
    assert.deepEqual(held.takeComplete('first'), []);
  }
  assert.equal(held.length, 1_000);
  assert.ok(reads <= 2_000, `${reads} looks at texts`);
});
