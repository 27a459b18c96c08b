import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TextPart } from '../../formats/neutral/json-texts.ts';
import { canMask, continuedIn, masked } from './guard-share.ts';
import { MaskBook } from './mask-book.ts';

const part = (path: TextPart['path'], text: string, more: Partial<TextPart> = {}): TextPart => ({
  kind: 'user',
  path,
  text,
  ...more,
});
const texts = (...parts: TextPart[]) => ({ parts, unread: [] });
const content = part(['messages', 0, 'content'], 'Ask jo@a.example, then jo@a.example or <EMAIL_1>');

test('what a provider keeps counts as unread, be it a response that is continued or a conversation', () => {
  assert.equal(continuedIn(texts(content, part(['previous_response_id'], 'resp_1'))), 1);
  assert.equal(continuedIn(texts(part(['conversation', 'id'], 'conv_1'))), 1);
  assert.equal(continuedIn(texts(content, part(['input', 0, 'conversation'], 'x'))), 0);
});

test('equal findings have one word, which is none that the caller wrote', () => {
  const book = new MaskBook();
  const findings = [4, 23].map((start) => ({ kind: 'email', start, end: start + 12 }));
  const { changes } = masked('g', book, texts(content), [{ part: content, findings }]) as { changes: TextPart[] };
  assert.deepEqual(changes, [{ ...content, text: 'Ask <EMAIL_2>, then <EMAIL_2> or <EMAIL_1>' }]);
  assert.equal(book.restored('<EMAIL_2>'), 'jo@a.example');
});

test('a number within JSON becomes a word in quotes, and an argument that is a number becomes a word', () => {
  const json = part(['messages', 1, 'content'], '{"card": 4111, "text": "4111"}');
  const findings = [9, 24].map((start) => ({ kind: 'card', start, end: start + 4 }));
  const number = part(['messages', 2, 'n'], '4111', { as: 'number', kind: 'tool-arguments' });
  const verdict = masked('g', new MaskBook(), null, [
    { part: json, findings },
    { part: number, findings: findings.slice(0, 1) },
  ]) as { changes: TextPart[] };
  assert.deepEqual(
    verdict.changes.map(({ text }) => text),
    ['{"card": "<CARD_1>", "text": "<CARD_1>"}', '<CARD_2>'],
  );
});

test('a finding where no word may stand refuses the request, and says what it is', () => {
  const findings = [{ kind: 'email', start: 0, end: 1 }];
  const why = (one: TextPart) => {
    assert.equal(canMask(one), false);
    const verdict = masked('g', new MaskBook(), texts(one), [
      { part: content, findings: [] },
      { part: one, findings },
    ]);
    return /does not let (.*) pass/.exec((verdict as { refused: { message: string } }).refused.message)?.[1];
  };
  assert.equal(why(part(['messages', 0, 'name'], 'jo')), 'the name of who speaks');
  assert.equal(why(part(['tools', 0], 'f', { names: 'tool-definition' })), 'the name of a tool or a schema');
  assert.equal(why(part(['metadata', 'jo'], 'jo', { as: 'name' })), 'the name of a JSON member');
  assert.equal(why(part(['seed'], '7', { as: 'number' })), 'a number that is no argument of a tool');
  for (const path of [
    ['messages', 0, 'content', 'name'],
    ['input', 0, 'name'],
    ['messages', 0, 'text'],
  ])
    assert.equal(canMask(part(path, 'x')), true);
  for (const kind of ['tool-arguments', 'tool-result'] as const)
    assert.equal(canMask(part([0], '1', { as: 'number', kind })), true);
});
