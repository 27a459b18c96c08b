import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { specValidator } from '../spec/validate.ts';
import {
  type DrawCall,
  type Drawing,
  imagesPath,
  imageWorld,
  inBase64,
  jpeg,
  png,
  startDrawing,
} from './image-world.ts';

const file = { after: after as TestContext['after'] };
const [first, second] = await Promise.all([startDrawing(inBase64), startDrawing(inBase64)]);
after(() => Promise.all([first.close(), second.close()]));

const provider = (url: string) => ({ type: 'openai', base_url: `${url}/v1`, api_key: 'upstream-secret' });
const config = {
  providers: { one: provider(first.url), two: provider(second.url) },
  models: {
    plain: { type: 'image', targets: ['one/pic-1'] },
    gpt: {
      type: 'image',
      targets: [{ provider: 'one', model: 'gpt-image-1', price: { image: 0.04 } }],
    },
    both: { type: 'image', targets: ['one/gpt-image-1', { provider: 'two', model: 'pic-2', priority: 2 }] },
  },
};
const { gateway, ask, record } = await imageWorld(file, config);
/** For failing calls: health belongs to a gateway. */
const anew = (t: TestContext) => imageWorld(t, config);

function clear(): void {
  for (const upstream of [first, second]) {
    upstream.calls.length = 0;
    upstream.script.length = 0;
  }
}

interface PictureEvent {
  type: string;
  b64_json: string;
  partial_image_index?: number;
  output_format: string;
  size: string;
  usage?: { input_tokens: number; output_tokens: number; estimated?: true };
}

const isPartial = specValidator('openai', 'ImageGenPartialImageEvent');
const isCompleted = specValidator('openai', 'ImageGenCompletedEvent');

/** The events of an answer, each held against OpenAI's description. */
async function eventsOf(response: Response): Promise<PictureEvent[]> {
  const text = await response.text();
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8', text);
  return text
    .split('\n\n')
    .filter((frame) => frame.includes('data: '))
    .map((frame) => {
      const event = JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as PictureEvent;
      const check = { partial_image: isPartial, completed: isCompleted }[event.type.split('.')[1] ?? ''];
      if (event.type.startsWith('image_generation')) assert.deepEqual(check?.(event), []);
      return event;
    });
}

const told = { created_at: 1, size: '1024x1024', quality: 'low', background: 'opaque', output_format: 'png' };
const usage = {
  input_tokens: 10,
  output_tokens: 272,
  total_tokens: 282,
  input_tokens_details: { text_tokens: 10, image_tokens: 0 },
};
const event = (type: string, picture: Buffer, more: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...told, ...more, b64_json: picture.toString('base64') })}\n\n`;

/** As OpenAI draws: unfinished images, then the finished one; `cut` before it, or in two after the first one. */
function drawn(task: 'image_generation' | 'image_edit', end: 'completed' | 'cut' | 'error'): Drawing {
  return (response: ServerResponse, _call: DrawCall) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const index of [0, 1])
      response.write(event(`${task}.partial_image`, png(index), { partial_image_index: index }));
    if (end === 'completed') response.end(event(`${task}.completed`, png(9), { usage }));
    else if (end === 'cut') response.end();
    else response.end('data: {"type":"error","error":{"type":"server_error","message":"no more paint"}}\n\n');
  };
}

test('design §6: a streamed picture of a provider that streams none is one event at the end, nothing invented', async () => {
  clear();
  const response = await ask({ model: 'plain', prompt: 'an otter', stream: true, partial_images: 2 });
  const events = await eventsOf(response);
  assert.deepEqual(
    events.map(({ type, b64_json, output_format, size }) => [type, b64_json, output_format, size]),
    [['image_generation.completed', png(0).toString('base64'), 'png', 'auto']],
  );
  assert.equal(events[0]!.usage!.estimated, true);
  assert.deepEqual([first.calls[0]!.body.stream, first.calls[0]!.body.partial_images], [undefined, undefined]);
  assert.equal((await record(response)).usage.images, 1);
});

test('design §6: several streamed pictures are an event each, in the type that they are', async () => {
  clear();
  first.script.push({
    json: { data: [{ b64_json: jpeg.toString('base64') }, { b64_json: png(1).toString('base64') }] },
  });
  const events = await eventsOf(await ask({ model: 'plain', prompt: 'x', n: 2, stream: true }));
  assert.deepEqual(
    events.map(({ output_format }) => output_format),
    ['jpeg', 'png'],
  );
});

test('design §6: unfinished pictures of a provider that gives them come first, as it gave them; OpenAI’s SDK reads it', async () => {
  clear();
  first.script.push(drawn('image_generation', 'completed'));
  const client = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1` });
  const stream = await client.images.generate({ model: 'gpt', prompt: 'x', stream: true, partial_images: 2 });
  const seen: [string, string][] = [];
  for await (const { type, b64_json } of stream) seen.push([type, b64_json]);
  assert.deepEqual(seen, [
    ['image_generation.partial_image', png(0).toString('base64')],
    ['image_generation.partial_image', png(1).toString('base64')],
    ['image_generation.completed', png(9).toString('base64')],
  ]);
  const { stream: streamed, partial_images, n } = first.calls[0]!.body;
  assert.deepEqual([streamed, partial_images, n], [true, 2, 1]);
});

test('design §6: what the finished picture used is in its event and in the books', async () => {
  clear();
  first.script.push(drawn('image_generation', 'completed'));
  const response = await ask({ model: 'gpt', prompt: 'x', stream: true, partial_images: 1 });
  const events = await eventsOf(response);
  assert.deepEqual(events.at(-1)!.usage, usage);
  assert.equal(response.headers.get('x-culvert-provider'), 'one');
  const { units, cost_usd, usage: kept } = await record(response);
  assert.deepEqual([units, cost_usd, kept.output_tokens, kept.source], [1, 0.04, 272, 'upstream']);
});

for (const [what, end] of [
  ['a broken connection', (response) => setTimeout(() => response.destroy(), 50)],
  [
    'an error',
    (response) => response.end('data: {"type":"error","error":{"type":"server_error","message":"late"}}\n\n'),
  ],
] as const satisfies readonly [string, (response: ServerResponse) => unknown][])
  test(`design §6: a finished picture is given, and drawn once, although ${what} follows it`, async (t) => {
    clear();
    const fresh = await anew(t);
    first.script.push((response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(event('image_generation.completed', png(9), { usage }));
      end(response);
    });
    const response = await fresh.ask({ model: 'both', prompt: 'x', stream: true, partial_images: 2 });
    const events = await eventsOf(response);
    assert.deepEqual(
      events.map(({ type, b64_json }) => [type, b64_json]),
      [['image_generation.completed', png(9).toString('base64')]],
    );
    assert.deepEqual([first.calls.length, second.calls.length], [1, 0]);
    assert.equal((await fresh.record(response)).usage.output_tokens, 272);
  });

for (const end of ['cut', 'error'] as const)
  test(`design §6: a stream that ends by ${end} before its picture is drawn again by the next target`, async (t) => {
    clear();
    const fresh = await anew(t);
    first.script.push(drawn('image_generation', end));
    const response = await fresh.ask({ model: 'both', prompt: 'x', stream: true, partial_images: 2 });
    const events = await eventsOf(response);
    assert.deepEqual(
      events.map(({ type }) => type.split('.')[1]),
      ['partial_image', 'partial_image', 'completed'],
    );
    assert.equal(events.at(-1)!.b64_json, png(0).toString('base64'));
    assert.equal(second.calls.length, 1);
  });

test('design §6: a stream of unfinished pictures alone ends by an error, and costs nothing', async (t) => {
  clear();
  const fresh = await anew(t);
  first.script.push(drawn('image_generation', 'cut'), ...Array(8).fill({ status: 503, json: {} }));
  const response = await fresh.ask({ model: 'gpt', prompt: 'x', stream: true, partial_images: 2 });
  const text = await response.text();
  assert.match(text, /partial_image/);
  assert.match(text, /data: \{"error":/);
  assert.doesNotMatch(text, /completed/);
  assert.equal((await fresh.record(response)).units, 0);
});

test('design §6: an edit streams too, in events of its own', async () => {
  clear();
  first.script.push(drawn('image_edit', 'completed'));
  const client = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1` });
  const image = await toFile(png(3), 'photo.png', { type: 'image/png' });
  const stream = await client.images.edit({ model: 'gpt', image, prompt: 'x', stream: true, partial_images: 1 });
  const types: string[] = [];
  for await (const { type } of stream) types.push(type);
  assert.deepEqual(types, ['image_edit.partial_image', 'image_edit.partial_image', 'image_edit.completed']);
  assert.match(first.calls[0]!.raw.toString('latin1'), /name="partial_images"\r\n\r\n1\r\n/);
});

test('design §6: a prompt that is refused before anything was drawn is a plain 400', async () => {
  clear();
  first.script.push({ status: 400, json: { error: { message: 'not that', code: 'content_policy_violation' } } });
  const response = await gateway.fetch(imagesPath, { json: { model: 'plain', prompt: 'x', stream: true } });
  assert.equal(response.status, 400);
});
