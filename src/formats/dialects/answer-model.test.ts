import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventWithModel } from './answer-model.ts';

for (const [dialect, member] of [
  ['gemini', 'modelVersion'],
  ['ollama', 'model'],
] as const) {
  test(`an event of ${dialect} with another name of its model keeps all digits of arguments of tools`, () => {
    const data = (name: string) => `{"a":{"args":{"id":9007199254740993,"x":1.0}}, "${member}":"${name}"}`;
    assert.deepEqual(eventWithModel(data('up'), { dialect, name: 'asked' }), { data: data('asked'), last: false });
    assert.equal(eventWithModel(data('asked'), { dialect, name: 'asked' }).data, null);
  });
}

test('an event over several lines stays the data of one', () => {
  const { data } = eventWithModel('{\n "modelVersion": "up",\r\n "n": 1\n}', { dialect: 'gemini', name: 'asked' });
  assert.equal(data, '{  "modelVersion": "asked",  "n": 1 }');
});
