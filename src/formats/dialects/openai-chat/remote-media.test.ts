import assert from 'node:assert/strict';
import { test } from 'node:test';
import { remoteMediaIn, withRemoteMedia } from './remote-media.ts';

const at = 'https://a.example/';
const body = {
  model: 'm',
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: at },
        { type: 'image_url', image_url: { url: `${at}1`, detail: 'low' } },
        { type: 'image_url', IMAGE_URL: `${at}2` },
        { type: 'input_audio', input_audio: { data: `${at}3`, format: 'wav' } },
        { type: 'file', file: { FILE_DATA: 'file:///etc/passwd', filename: at } },
        { type: 'video_url', video_url: { url: '/srv/video.mp4' } },
      ],
    },
  ],
  image_url: `${at}beside`,
};
const param = (place: string) => `messages[0].content${place}`;
const found = [
  { url: `${at}1`, param: param('[1]'), kind: 'image' },
  { url: `${at}2`, param: param('[2]'), kind: 'image' },
  { url: `${at}3`, param: param('[3]'), kind: 'audio' },
  { url: 'file:///etc/passwd', param: param('[4]'), kind: 'document' },
  { url: '/srv/video.mp4', param: param('[5]'), kind: 'video' },
];

test('an engine is sent no address of media, however its member is spelt, and no path on its disk', () => {
  assert.deepEqual(remoteMediaIn(body), found);
  assert.deepEqual(remoteMediaIn(body, ['image_url', 'absent']), []);
  assert.deepEqual(remoteMediaIn({ input: [{ document_url: at }] }, ['input']), [
    { url: at, param: 'input[0]', kind: 'document' },
  ]);
});

test('content that is inline stays: data URLs, base64 alone and nothing', () => {
  const base64 = 'QUJD'.repeat(16);
  for (const url of ['', 'DATA:image/png;base64,QQ==', base64, `${base64}==`])
    assert.deepEqual(remoteMediaIn({ messages: [{ image_url: { url } }] }), [], url);
  // Too short for base64, so an engine may take it for a name.
  for (const url of [base64.slice(1), `${base64}===`])
    assert.equal(remoteMediaIn({ messages: [{ image_url: { url } }] }).length, 1, url);
  for (const data of ['QUJD', 'data:audio/wav;base64,QQ==', ' data:,'])
    assert.deepEqual(remoteMediaIn({ messages: [{ input_audio: { data } }] }), [], data);
});

test('fetched content takes the place of each address, and the one that is missing is named', () => {
  const fetched = Object.fromEntries(found.map(({ url }, n) => [url, { mediaType: 'a/b', base64: `n${n}` }]));
  const whole = withRemoteMedia(body, fetched);
  assert.deepEqual(whole, {
    ...body,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: at },
          { type: 'image_url', image_url: { url: 'data:a/b;base64,n0', detail: 'low' } },
          { type: 'image_url', IMAGE_URL: 'data:a/b;base64,n1' },
          { type: 'input_audio', input_audio: { data: 'data:a/b;base64,n2', format: 'wav' } },
          { type: 'file', file: { FILE_DATA: 'data:a/b;base64,n3', filename: at } },
          { type: 'video_url', video_url: { url: 'data:a/b;base64,n4' } },
        ],
      },
    ],
  });
  assert.equal(remoteMediaIn(body).length, 5, 'the body itself is as it was');
  const { [`${at}3`]: _, ...others } = fetched;
  const refused = withRemoteMedia(body, others);
  assert.ok('kind' in refused && refused.kind === 'invalid-request');
  assert.equal(refused.param, param('[3]'));
});
