import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../kernel/json.ts';
import type { NeutralEvent } from '../../neutral/event.ts';
import { decodeStream } from './decode-answer.ts';

/* Calls whose arguments Vertex AI streams (`streamFunctionCallArguments`); hand-made from @google/genai's types. */

const chunkOf = (functionCall: JsonObject, more: JsonObject = {}) =>
  JSON.stringify({ candidates: [{ content: { role: 'model', parts: [{ functionCall }] }, ...more }] });

/** Names and arguments of the calls in a stream of these pieces. */
function callsOf(...pieces: JsonObject[]): { name: string; args: unknown }[] {
  const decoder = decodeStream();
  const last = pieces.length - 1;
  const events: NeutralEvent[] = pieces.flatMap((piece, at) => [
    ...decoder.step({ event: '', data: chunkOf(piece, at === last ? { finishReason: 'STOP' } : {}) }),
  ]);
  const calls: { name: string; json: string }[] = [];
  for (const event of events) {
    if (event.type === 'tool-call-start') calls[event.call] = { name: event.name, json: '' };
    if (event.type === 'tool-call-delta') calls[event.call]!.json += event.argumentsJson;
  }
  return calls.map(({ name, json }) => ({ name, args: JSON.parse(json) as unknown }));
}

test('a call that comes in pieces is one call, with its arguments whole', () => {
  const calls = callsOf(
    { name: 'book', willContinue: true },
    { partialArgs: [{ jsonPath: '$.city', stringValue: 'Ber', willContinue: true }], willContinue: true },
    { partialArgs: [{ jsonPath: '$.city', stringValue: 'lin' }], willContinue: true },
    {
      partialArgs: [
        { jsonPath: '$.days[0]', numberValue: 3 },
        { jsonPath: "$.guest['first name']", stringValue: 'Ada' },
        { jsonPath: '$.paid', boolValue: true },
        { jsonPath: '$.note', nullValue: 'NULL_VALUE' },
      ],
      willContinue: true,
    },
    {},
  );
  const args = { city: 'Berlin', days: [3], guest: { 'first name': 'Ada' }, paid: true, note: null };
  assert.deepEqual(calls, [{ name: 'book', args }]);
});

test('pieces that name no place, or one that cannot be, are left out, and nothing else is touched', () => {
  const [call] = callsOf(
    { name: 'book', willContinue: true },
    {
      partialArgs: [
        { stringValue: 'nowhere' },
        { jsonPath: 'city', stringValue: 'no path' },
        { jsonPath: '$.list[5]', numberValue: 1 },
        { jsonPath: '$.__proto__.polluted', boolValue: true },
        { jsonPath: `$${'.a'.repeat(100)}`, numberValue: 1 },
        { jsonPath: '$.city', stringValue: 'Bern' },
      ],
      willContinue: true,
    },
    {},
  );
  const { city } = call!.args as { city: string };
  assert.equal(city, 'Bern');
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
});
