import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shownConversation } from './shown-conversation.ts';

const json = (value: object) => Buffer.from(JSON.stringify(value));

test('sounds, files and sources of a conversation are shown as what they are', () => {
  const content = [
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
    { type: 'input_audio', input_audio: { data: 'BBBB', format: 'wav' } },
    { type: 'file', file: { file_id: 'file-1' } },
  ];
  const annotation = { url: 'https://a.example', title: 'A', content: 'Grass is blue.', start_index: 0, end_index: 5 };
  const message = {
    role: 'assistant',
    content: 'Blue.',
    annotations: [{ type: 'url_citation', url_citation: annotation }],
    audio: { id: 'audio_1', data: 'CCCC', transcript: 'Blue.' },
  };
  const { turns } = shownConversation(
    'openai-chat',
    json({ model: 'm', messages: [{ role: 'user', content }] }),
    json({ id: 'c', images: [{}], object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] }),
  );
  const sound = (type: string | null, base64: string) => ({ type, base64, url: null });
  assert.deepEqual(turns[0]?.parts, [
    { type: 'audio', media: sound('audio/mpeg', 'AAAA') },
    { type: 'audio', media: sound('audio/wav', 'BBBB') },
    { type: 'file', media: { type: null, base64: null, url: null }, name: 'file-1' },
  ]);
  assert.deepEqual(
    turns[1]?.parts.toSorted((one, other) => one.type.localeCompare(other.type)),
    [
      { type: 'audio', text: 'Blue.', media: sound(null, 'CCCC') },
      {
        type: 'citation',
        name: 'A',
        text: 'Grass is blue.',
        media: { type: null, base64: null, url: 'https://a.example' },
      },
      { type: 'text', text: 'Blue.' },
    ],
  );
});

test('the pieces of a streamed sound are one part with its words', () => {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const answer = [
    chunk({ audio: { id: 'audio_1', transcript: 'Good ' } }),
    chunk({ audio: { data: 'AAAA' } }),
    chunk({ audio: { data: 'BBBB', transcript: 'day.' } }),
    chunk({}, 'stop'),
    'data: [DONE]\n\n',
  ].join('');
  const { turns } = shownConversation('openai-chat', Buffer.from(''), Buffer.from(answer));
  assert.deepEqual(
    turns.map(({ parts, finish }) => [parts, finish]),
    [[[{ type: 'audio', text: 'Good day.', media: { type: null, base64: 'AAAABBBB', url: null } }], 'stop']],
  );
});
