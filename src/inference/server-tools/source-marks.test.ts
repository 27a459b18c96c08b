import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { NeutralEvent } from '../../formats/neutral/event.ts';
import type { ServerSource } from '../../formats/neutral/server-tool.ts';
import { SourceMarks } from './source-marks.ts';

const blank = { quote: '', score: null, attributes: {}, age: null };
const page: ServerSource = { ...blank, url: 'https://www.a.example/(x)', title: 'A' };
const file: ServerSource = { ...blank, url: null, title: 'b.txt', fileId: 'file-b' };

function read(pieces: readonly string[]): { text: string; cited: string[] } {
  const marks = new SourceMarks();
  marks.sources.push(page, file);
  const events: NeutralEvent[] = [...pieces.flatMap((piece) => marks.text(piece)), ...marks.flush()];
  const text = events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');
  const cited = events.flatMap((event) => {
    if (event.type !== 'citation') return [];
    const { span, fileId } = event.citation;
    return [span === undefined ? (fileId ?? '') : text.slice(span.start, span.end)];
  });
  return { text, cited };
}

const link = '([a.example](https://www.a.example/%28x%29))';
const cases: [said: string, text: string, cited: string[]][] = [
  ['Red【1】.', `Red ${link}.`, [link]],
  ['Red 【1†source】', `Red ${link}`, [link]],
  ['Red【1, 2】and【2】', `Red ${link}and`, [link, 'file-b', 'file-b']],
  ['【2】', '', ['file-b']],
  // Sources that nobody found, and brackets of other kinds, are the model's words.
  ['Red【3】【】【x】【', 'Red【3】【】【x】【', []],
  [`【${'1'.repeat(60)}】`, `【${'1'.repeat(60)}】`, []],
  ['[1] 〔1〕', '[1] 〔1〕', []],
];

for (const [said, text, cited] of cases) {
  test(`marks become links and citations: ${said.slice(0, 40)}`, () => {
    assert.deepEqual(read([said]), { text, cited });
  });
}

test('wherever the text is cut, it reads the same', () => {
  const word = fc.constantFrom('Red', ' ', '【', '】', '1', '2', '3', ', ', '†', '【1】', '【2】', 'x'.repeat(50));
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), (words) => {
      const said = words.join('');
      assert.deepEqual(read([...said]), read([said]));
    }),
  );
});

test('before anything was found, text passes as it is', () => {
  assert.deepEqual(new SourceMarks().text('【1】'), [{ type: 'text-delta', choice: 0, text: '【1】' }]);
});
