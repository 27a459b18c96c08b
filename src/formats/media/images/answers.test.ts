import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ImageFormatId } from './format.ts';
import { imageFormats } from './index.ts';

/* How the answers of each service of pictures read: by its documentation, which each format names. */

const drawn = (...images: string[]) =>
  images.map((at) => ({ ...(at.startsWith('http') ? { url: at } : { base64: at }), revisedPrompt: null }));
const link = 'https://pictures.example/1.png';

const answers: readonly [ImageFormatId, body: unknown, images: object[] | string][] = [
  ['openai', { data: [{ b64_json: 'AAAA', revised_prompt: 'Otters' }] }, [{ base64: 'AAAA', revisedPrompt: 'Otters' }]],
  ['openai', { data: [{ url: link, revised_prompt: '' }, { url: 'data:image/png;base64,BBBB' }] }, drawn(link, 'BBBB')],
  ['openai', { data: [] }, 'malformed: the answer holds no picture'],
  ['openai', { data: [{ b64_json: 'AAAA' }, {}] }, 'malformed: the answer holds an entry without a picture'],
  ['openai', { data: ['AAAA'] }, 'malformed: the answer holds an entry without a picture'],
  ['openai', { data: [{ url: `${link}?${'x'.repeat(8_192)}` }] }, 'malformed: the answer holds an entry'],
  ['openai', { images: [] }, "malformed: the answer has no 'data'"],
  ['openai', [], "malformed: the answer has no 'data'"],
  ['openai', { error: { message: 'No.', code: 429 } }, 'rate_limited: No.'],
  [
    'gemini',
    {
      candidates: [
        {
          content: {
            parts: [
              { thought: true, inlineData: { data: 'DRAFT' } },
              { text: 'Here' },
              { inlineData: { data: 'AAAA' } },
              { inline_data: { data: 'BBBB' } },
            ],
          },
        },
      ],
    },
    drawn('AAAA', 'BBBB'),
  ],
  ['gemini', { promptFeedback: { blockReason: 'OTHER' } }, 'filtered: refused the request for its content (OTHER)'],
  ['gemini', { candidates: [{ finishReason: 'IMAGE_SAFETY' }] }, 'filtered: refused the request for its content'],
  ['gemini', { candidates: [{ finishReason: 'NO_IMAGE' }] }, 'malformed: drew no picture (NO_IMAGE)'],
  ['gemini', { candidates: [] }, 'malformed: the answer holds no picture'],
  ['gemini', 'text', 'malformed: the answer is not an object'],
  ['gemini', { error: { message: 'Busy.', status: 'UNAVAILABLE', code: 503 } }, ': Busy.'],
  ['imagen', { predictions: [{ bytesBase64Encoded: 'AAAA', prompt: 'O' }] }, [{ base64: 'AAAA', revisedPrompt: 'O' }]],
  ['imagen', { predictions: [{ raiFilteredReason: 'Violence' }] }, 'filtered: refused the request for its content (V'],
  ['imagen', { predictions: [{}] }, 'malformed: the answer holds no picture'],
  ['imagen', {}, "malformed: the answer has no 'predictions'"],
  ['imagen', { error: { message: 'Busy.' } }, ': Busy.'],
  ['a1111', { images: ['AAAA', 'data:image/png;base64,BBBB'] }, drawn('AAAA', 'BBBB')],
  ['a1111', { images: ['AAAA', ''] }, 'malformed: the answer holds an entry without a picture'],
  ['a1111', { images: [] }, 'malformed: the answer holds no picture'],
  ['a1111', { detail: 'Not found' }, 'malformed: Not found'],
  ['a1111', { info: '' }, "malformed: the answer has no 'images'"],
  ['a1111', { error: 'OutOfMemoryError' }, ': OutOfMemoryError'],
  ['a1111', [], "malformed: the answer has no 'images'"],
  ['fireworks', { base64: 'AAAA', finishReason: 'SUCCESS' }, drawn('AAAA')],
  ['fireworks', { base64: '', finishReason: 'CONTENT_FILTERED' }, 'filtered: refused the request for its content'],
  ['fireworks', { finishReason: 'ERROR' }, 'malformed: the answer holds no picture'],
  ['fireworks', [], 'malformed: the answer is not an object'],
  ['fireworks', { error: 'Busy.' }, ': Busy.'],
  ['fal', { images: [{ url: link }, { url: 'data:image/png;base64,BBBB' }] }, drawn(link, 'BBBB')],
  ['fal', { images: [{}] }, 'malformed: the answer holds no picture'],
  ['fal', { image: link }, "malformed: the answer has no 'images'"],
  ['fal', { error: 'Busy.' }, ': Busy.'],
  ['replicate', { status: 'succeeded', output: [link] }, drawn(link)],
  ['replicate', { status: 'succeeded', output: link }, drawn(link)],
  ['replicate', { status: 'succeeded', output: null }, 'malformed: the answer holds no picture'],
  ['replicate', { status: 'starting' }, 'transient: the picture was not ready within a minute'],
  ['replicate', { status: 'processing' }, 'transient: the picture was not ready within a minute'],
  ['replicate', { status: 'failed', error: 'NSFW content' }, 'filtered: refused the request for its content (NSFW c'],
  ['replicate', { status: 'failed', error: 'CUDA' }, 'transient: the prediction failed: CUDA'],
  ['replicate', { status: 'canceled', error: null }, 'transient: the prediction canceled: '],
  ['replicate', null, 'malformed: the answer is no object'],
  ['bfl', { status: 'Ready', result: { sample: link } }, drawn(link)],
  ['bfl', { status: 'Ready', result: {} }, 'malformed: the answer holds no picture'],
  ['bfl', { status: 'Request Moderated' }, 'filtered: refused the request for its content (Request Moderated)'],
  ['bfl', { status: 'Content Moderated' }, 'filtered: refused the request for its content (Content Moderated)'],
  ['bfl', { status: 'Task not found' }, 'transient: the task ended: Task not found'],
  ['bfl', { result: { sample: link } }, 'malformed: the answer holds no picture'],
  ['bfl', 'text', 'malformed: the answer is no object'],
  ['stability', { image: 'AAAA', finish_reason: 'SUCCESS' }, drawn('AAAA')],
  ['stability', { image: 'AAAA', finish_reason: 'CONTENT_FILTERED' }, 'filtered: refused the request for its content'],
  ['stability', {}, 'malformed: the answer holds no picture'],
  ['stability', [], 'malformed: the answer is no object'],
  ['bedrock-stability', { images: ['AAAA'], finish_reasons: [null] }, drawn('AAAA')],
  ['bedrock-stability', { images: [], finish_reasons: ['Filter reason: prompt'] }, 'filtered: refused the request for'],
  ['bedrock-stability', { finish_reasons: ['Inference error'] }, 'malformed: drew no picture (Inference error)'],
  ['bedrock-stability', {}, 'malformed: the answer holds no picture'],
  ['bedrock-stability', 1, 'malformed: the answer is not an object'],
  ['nova-canvas', { images: ['AAAA', 'BBBB'], error: 'One was left out.' }, drawn('AAAA', 'BBBB')],
  ['nova-canvas', { images: [], error: 'Blocked.' }, 'filtered: refused the request for its content (Blocked.)'],
  ['nova-canvas', { images: [] }, 'malformed: the answer holds no picture'],
  ['nova-canvas', [], 'malformed: the answer is not an object'],
];

for (const [format, body, expected] of answers) {
  test(`${format} answers ${JSON.stringify(body).slice(0, 80)}`, () => {
    const read = imageFormats[format].decode(body);
    if (typeof expected === 'string') {
      assert.ok('class' in read, JSON.stringify(read));
      assert.ok(`${read.class}: ${read.message}`.includes(expected), `${read.class}: ${read.message}`);
    } else {
      assert.ok('images' in read, JSON.stringify(read));
      assert.deepEqual(read.images, expected);
    }
  });
}

test('tokens and facts of a picture are read where OpenAI writes them, or in the event of a finished one', () => {
  const usage = { input_tokens: 7, output_tokens: 9, input_tokens_details: { text_tokens: 5, image_tokens: 2 } };
  const facts = { background: 'opaque', output_format: 'svg', quality: '', size: 'x'.repeat(65), style: 'vivid' };
  const svg = { model: 'm'.repeat(129), input_tokens: 1, output_tokens: 2, total_tokens: 'many' };
  const svgRead = { model: 'm'.repeat(128), input_tokens: 1, output_tokens: 2, reasoning_tokens: 0, total_tokens: 0 };
  const tokens = { inputTokens: 7, outputTokens: 9, textTokens: 5, imageTokens: 2 };
  const reported = { background: 'opaque', output_format: 'svg' };
  const { decode } = imageFormats.openai;
  const image = { b64_json: 'AAAA' };
  assert.deepEqual(decode({ data: [image], usage, ...facts, svg_usage: svg }), {
    images: drawn('AAAA'),
    usage: tokens,
    reported: { ...reported, svg_usage: svgRead },
  });
  assert.deepEqual(decode({ data: [{ ...image, type: 'image_generation.completed', usage, ...facts }] }), {
    images: drawn('AAAA'),
    usage: tokens,
    reported,
  });
  for (const unread of [undefined, {}, { input_tokens: 7 }, { output_tokens: 9 }])
    assert.deepEqual(decode({ data: [image], ...(unread && { usage: unread }) }), {
      images: drawn('AAAA'),
      usage: null,
      reported: {},
    });
});

test('a task of Black Forest Labs runs until its state says that it ended, at a host of theirs', () => {
  const { job } = imageFormats.bfl;
  assert.ok(job !== undefined);
  assert.equal(
    job.at({ id: 't', polling_url: 'https://api.bfl.ai/v1/get_result?id=t' }),
    'https://api.bfl.ai/v1/get_result?id=t',
  );
  assert.equal(job.at({ id: 't' }), null);
  for (const status of ['Pending', 'Queued', 'Processing']) assert.equal(job.runs({ status }), true, status);
  for (const status of ['Ready', 'Error', null]) assert.equal(job.runs({ status }), false);
  for (const host of ['bfl.ai', 'api.eu1.bfl.ai', 'bfl.ml']) assert.match(host, job.hosts);
  for (const host of ['bfl.ai.example', 'notbfl.ai', 'bfl.aix']) assert.doesNotMatch(host, job.hosts);
});
