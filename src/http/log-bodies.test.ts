import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoggedText } from './log-bodies.ts';

test('a logged body that is cut ends with a whole character', () => {
  const bodyOf = (text: string, bytesMax: number) => {
    const logged = new LoggedText(bytesMax);
    logged.add(text);
    return logged.text('');
  };
  assert.equal(bodyOf('aé😀', 2), 'a… [7 bytes in all]');
  for (const bytesMax of [3, 4, 5, 6]) assert.equal(bodyOf('aé😀', bytesMax), 'aé… [7 bytes in all]');
  assert.equal(bodyOf('aé😀', 7), 'aé😀');
});
