import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../kernel/json.ts';
import type { VideoRequest } from './format.ts';
import { videoFormats } from './index.ts';
import { readRemix, readVideoRequest } from './read-request.ts';
import { readVeoOperation } from './veo.ts';

const plain: VideoRequest = {
  model: 'alias',
  prompt: 'Otters',
  seconds: 4,
  size: null,
  pictureUrl: null,
  extra: {},
  user: null,
};
const fieldOf = (read: object | string) =>
  typeof read === 'object' && 'kind' in read ? (read as { param?: string }).param : null;

for (const [body, field] of [
  [{ prompt: '' }, 'prompt'],
  [{ prompt: 'x'.repeat(32_001) }, 'prompt'],
  [{ seconds: 0 }, 'seconds'],
  [{ seconds: 61 }, 'seconds'],
  [{ seconds: 4.5 }, 'seconds'],
  [{ seconds: '004' }, 'seconds'],
  [{ size: '1280X720' }, 'size'],
  [{ size: '8193x720' }, 'size'],
  [{ size: '720x8193' }, 'size'],
  [{ size: 'auto' }, 'size'],
  [{ input_reference: 'file-1' }, 'input_reference'],
  [{ input_reference: { file_id: 'file-1' } }, 'input_reference'],
  [{ prompt: 'x'.repeat(32_000), seconds: '60', size: '8192x8192' }, null],
  [{ seconds: 1, size: '10x10', input_reference: 'https://a.example/1.png' }, null],
  [{ seconds: null, size: null, input_reference: null }, null],
] as const satisfies [JsonObject, string | null][]) {
  test(`a request for a video with ${JSON.stringify(body).slice(0, 60)} is ${field === null ? 'taken' : 'refused'}`, () => {
    assert.equal(fieldOf(readVideoRequest({ model: 'm', prompt: 'Otters', ...body })), field);
  });
}

test('a request for a video has four seconds where it says none, its picture, and what the provider alone knows', () => {
  const picture = { image_url: 'data:image/png;base64,AA==' };
  const body = { model: 'm', prompt: 'Otters', size: '1280x720', input_reference: picture, user: 'u', seed: 7 };
  assert.deepEqual(readVideoRequest(body), {
    ...plain,
    model: 'm',
    size: { width: 1280, height: 720 },
    pictureUrl: picture.image_url,
    user: 'u',
    extra: { seed: 7 },
  });
  assert.deepEqual([readRemix({ prompt: 'Again' }), fieldOf(readRemix({ prompt: 1 }))], ['Again', 'prompt']);
});

test('OpenAI gets seconds as words and a picture by its address; its job has an id', () => {
  const { encode, started, unmet } = videoFormats.openai;
  assert.deepEqual(encode(plain, 'm', null), { model: 'm', prompt: 'Otters', seconds: '4' });
  const full = {
    ...plain,
    size: { width: 1280, height: 720 },
    pictureUrl: 'https://a.example/1.png',
    extra: { seed: 7 },
  };
  assert.deepEqual(encode(full, 'm', null), {
    seed: 7,
    model: 'm',
    prompt: 'Otters',
    seconds: '4',
    size: '1280x720',
    input_reference: { image_url: 'https://a.example/1.png' },
  });
  assert.equal(unmet(full), null);
  assert.deepEqual(started({ id: 'v', status: 'queued' }), { job: { id: 'v', status: 'queued' } });
  for (const none of [{ id: '' }, {}, []]) assert.equal('class' in started(none), true);
});

test('Veo takes its shapes, a picture inside, and nothing that would make more than is charged', () => {
  const { encode, started, unmet } = videoFormats.veo;
  const size = (width: number, height: number) => ({ ...plain, size: { width, height } });
  for (const [width, height] of [
    [1280, 720],
    [720, 1280],
    [1920, 1080],
    [1080, 1920],
    [3840, 2160],
  ] as const)
    assert.equal(unmet(size(width, height)), null, `${width}x${height}`);
  for (const [width, height] of [
    [1024, 1024],
    [1290, 700],
    [1280, 721],
  ] as const)
    assert.equal(unmet(size(width, height))?.field, 'size', `${width}x${height}`);
  for (const name of ['durationSeconds', 'duration_seconds', 'sample_count', 'SampleCount', 'storageUri'])
    assert.equal(unmet({ ...plain, extra: { seed: 1, [name]: 8 } })?.field, name);
  assert.equal(unmet({ ...plain, extra: { seed: 1 } }), null);
  assert.equal(unmet({ ...plain, pictureUrl: 'https://a.example/1.png' })?.field, 'input_reference');
  const inside = { ...size(720, 1280), pictureUrl: 'data:image/png;base64,AA==', extra: { seed: 7 } };
  assert.equal(unmet(inside), null);
  const parameters = { durationSeconds: 4, aspectRatio: '9:16', resolution: '720p', seed: 7 };
  const image = { bytesBase64Encoded: 'AA==', mimeType: 'image/png' };
  assert.deepEqual(encode(inside, 'm', null), { instances: [{ prompt: 'Otters', image }], parameters });
  const file = { mediaType: 'image/jpeg', base64: 'BB==' };
  assert.deepEqual(encode(plain, 'm', file), {
    instances: [{ prompt: 'Otters', image: { bytesBase64Encoded: 'BB==', mimeType: 'image/jpeg' } }],
    parameters: { durationSeconds: 4 },
  });
  assert.deepEqual(encode(size(3840, 2160), 'm', null).parameters, {
    durationSeconds: 4,
    aspectRatio: '16:9',
    resolution: '4k',
  });
  assert.deepEqual(started({ name: 'models/veo/operations/a-1' }), { operation: 'models/veo/operations/a-1' });
  for (const name of ['', 'a b', 'x'.repeat(513), 1]) assert.equal('class' in started({ name }), true, String(name));
});

test('an operation of Veo is a job of OpenAI, with its video where the service put it', () => {
  const operation = { model: 'm', name: 'n', seconds: 8, size: '1280x720', createdS: 7 };
  const read = (body: JsonObject) => readVeoOperation(body, 'v', operation);
  const basics = {
    id: 'v',
    object: 'video',
    model: 'm',
    created_at: 7,
    completed_at: null,
    expires_at: null,
    seconds: '8',
    size: '1280x720',
    remixed_from_video_id: null,
  };
  const runs = { ...basics, status: 'in_progress', progress: 0, error: null };
  const sample = (video: JsonObject) => ({ generateVideoResponse: { generatedSamples: [{ video }] } });
  assert.deepEqual(read({ name: 'n' }), { job: runs, video: null });
  assert.deepEqual(read({ done: false, response: sample({ uri: 'u' }) }), { job: runs, video: null });
  const done = { ...basics, status: 'completed', progress: 100, error: null };
  for (const [response, video] of [
    [sample({ uri: 'https://a.example/v' }), { uri: 'https://a.example/v' }],
    [{ videos: [{ gcsUri: 'gs://b/v' }] }, { bucket: 'gs://b/v' }],
    [{ videos: [{ bytesBase64Encoded: 'AA==', mimeType: 'video/webm' }] }, { base64: 'AA==', mediaType: 'video/webm' }],
    [{ videos: [{ bytesBase64Encoded: 'AA==' }] }, { base64: 'AA==', mediaType: 'video/mp4' }],
  ] satisfies [JsonObject, object][])
    assert.deepEqual(read({ done: true, response }), { job: done, video });
  const failed = (error: JsonObject) => ({ job: { ...basics, status: 'failed', progress: 0, error }, video: null });
  assert.deepEqual(read({ done: true, error: { code: 3, message: 'No.' } }), failed({ code: '3', message: 'No.' }));
  assert.deepEqual(read({ done: true, error: {} }), failed({ code: 'error', message: '' }));
  const none = failed({ code: 'no_video', message: 'The model gave no video.' });
  for (const response of [{}, sample({}), { videos: [] }, { generateVideoResponse: { raiMediaFilteredReasons: [] } }])
    assert.deepEqual(read({ done: true, response }), none);
  const filtered = failed({ code: 'content_filter', message: 'A. B.' });
  const raiMediaFilteredReasons = ['A.', 'B.'];
  assert.deepEqual(read({ done: true, response: { raiMediaFilteredReasons } }), filtered);
  assert.deepEqual(read({ done: true, response: { generateVideoResponse: { raiMediaFilteredReasons } } }), filtered);
  const { size: _, ...unsized } = done;
  assert.deepEqual(
    readVeoOperation({ done: true, response: sample({ uri: 'u' }) }, 'v', { ...operation, size: null }).job,
    unsized,
  );
});
