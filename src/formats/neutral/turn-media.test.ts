import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NeutralMessage, NeutralPart } from './request.ts';
import type { ServerTurn } from './server-turn.ts';
import { estimatedTokensOf, withTakenMedia } from './turn-media.ts';

const picture: NeutralPart = { type: 'image', source: { kind: 'url', url: 'https://a.example/p.png' } };
const sound: NeutralPart = { type: 'audio', format: 'wav', base64: 'A'.repeat(640) };
const text: NeutralPart = { type: 'text', text: 'two files' };
const messages: NeutralMessage[] = [
  { role: 'assistant', parts: [{ type: 'tool-call', id: 'c', name: 'look', argumentsJson: '{}' }] },
  { role: 'tool', parts: [{ type: 'tool-result', callId: 'c', isError: false, parts: [text, picture, sound] }] },
];
const turn: ServerTurn = { offered: [], fields: ['tools.web_search', 'tools.mcp'], messages, choice: 'free' };

function resultOf({ messages: [, second] }: ServerTurn): readonly NeutralPart[] {
  const [part] = second?.parts ?? [];
  assert.ok(part?.type === 'tool-result');
  return part.parts;
}

test('a target that reads pictures and sound gets what a tool returned as it is', () => {
  assert.equal(withTakenMedia(turn, { image: true, audio: true }), turn);
});

test('a target that reads one kind of media gets a word for the other, and the loss names it', () => {
  const deaf = withTakenMedia(turn, { image: true, audio: false });
  assert.deepEqual(resultOf(deaf), [text, picture, { type: 'text', text: '[audio]' }]);
  assert.deepEqual(deaf.lost, [{ field: 'tools.mcp.audio', why: 'unsupported' }]);
  assert.deepEqual(deaf.messages[0], messages[0]);
  const before = [{ field: 'tools.other', why: 'unsupported' }] as const;
  const blind = withTakenMedia({ ...turn, fields: ['mcp_servers'], lost: before }, { image: false, audio: false });
  assert.deepEqual(resultOf(blind), [text, { type: 'text', text: '[image]' }, { type: 'text', text: '[audio]' }]);
  assert.deepEqual(blind.lost, [
    ...before,
    { field: 'mcp_servers.image', why: 'unsupported' },
    { field: 'mcp_servers.audio', why: 'unsupported' },
  ]);
  const unnamed = withTakenMedia({ ...turn, fields: ['tools.web_search'] }, { image: false, audio: true });
  assert.deepEqual(unnamed.lost, [{ field: 'tools.mcp.image', why: 'unsupported' }]);
});

test('media count by what they are, and not by their bytes', () => {
  const tokens = (part: NeutralPart) => estimatedTokensOf([{ role: 'tool', parts: [part] }]);
  const inline: NeutralPart = {
    type: 'image',
    source: { kind: 'base64', mediaType: 'image/png', base64: 'A'.repeat(9_999) },
  };
  assert.equal(tokens(picture), tokens(inline));
  assert.equal(tokens(picture) - tokens(sound), 1_590 - 10, '640 characters of sound are 40 words of 4 letters');
  assert.equal(tokens({ type: 'text', text: 'x'.repeat(400) }) - tokens({ type: 'text', text: '' }), 100);
});
