import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { pngSaying } from '../../src/simulator/media/picture.ts';
import { mp3Frames } from '../../src/simulator/media/sound-assets.ts';
import { startGateway } from '../start-gateway.ts';

/*
 * Answers that are pictures, speech or videos: what of them is text is read, in JSON, in events and in plain text. What
 * is none is `unscanned`, and refused before anybody is asked, unless the guard lets it pass.
 */

const own = 'jo.doe@example.org';
const made = 'made.up@example.net';
const picture = pngSaying(['A'], { width: 64, height: 64 }).toString('base64');

/** Repeats the masked word of its request, beside an address that it makes. */
const bodies: string[] = [];
const upstream = createServer(async (request, response) => {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece);
  const body = Buffer.concat(pieces).toString('latin1');
  if (request.method !== 'POST') return void response.writeHead(404).end();
  bodies.push(body);
  const text = `For ${/<EMAIL_\d>/.exec(body)?.[0] ?? own} and ${made}`;
  const json = (value: object) => response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
  const path = request.url ?? '';
  if (path.endsWith('/speech')) return void response.setHeader('content-type', 'audio/mpeg').end(mp3Frames);
  if (path.endsWith('/videos')) {
    const job = { id: 'video_1', object: 'video', status: 'queued', model: 'm', progress: 0, created_at: 1 };
    return void json({ ...job, prompt: text, seconds: '4', size: '720x1280' });
  }
  if (path.includes('/images/') && body.includes('"stream":true')) {
    response.setHeader('content-type', 'text/event-stream');
    const done = { type: 'image_generation.completed', b64_json: picture, revised_prompt: text, created_at: 1 };
    return void response.end(`event: ${done.type}\ndata: ${JSON.stringify(done)}\n\n`);
  }
  if (path.includes('/images/')) return void json({ created: 1, data: [{ b64_json: picture, revised_prompt: text }] });
  if (!body.includes('name="stream"'))
    return void json({ text, language: 'english', duration: 1, segments: [{ id: 0, start: 0, end: 1, text }] });
  response.setHeader('content-type', 'text/event-stream');
  const send = (event: object) => response.write(`data: ${JSON.stringify(event)}\n\n`);
  for (const [delta] of text.matchAll(/.{1,5}/gs)) send({ type: 'transcript.text.delta', delta });
  send({ type: 'transcript.text.done', text });
  response.end('data: [DONE]\n\n');
});
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
after(() => {
  upstream.closeAllConnections();
  upstream.close();
});
beforeEach(() => {
  bodies.length = 0;
});

const guard = { check: 'personal-data', kinds: ['email'] };
const guards = {
  masks: { ...guard, action: 'mask' },
  lenient: { ...guard, action: 'mask', on_error: 'allow' },
  asks: { ...guard, action: 'mask', on: ['input'] },
  hears: { ...guard, action: 'mask', on: ['output'] },
  blocks: { ...guard, action: 'block', on_error: 'allow', on: ['output'] },
  observes: { ...guard, action: 'block', mode: 'observe' },
  sizes: { check: 'sizes', limits: { chars: 1_000 }, action: 'block' },
  form: { check: 'json-schema', schema: { type: 'object' }, action: 'block' },
  tools: { check: 'injection', action: 'block' },
};
const types = ['image', 'speech', 'video', 'transcription'] as const;
const gateway = await startGateway({ after } as TestContext, {
  providers: {
    openai: {
      type: 'openai',
      base_url: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`,
      api_key: 'k',
    },
  },
  guards,
  models: Object.fromEntries(
    types.flatMap((type) =>
      Object.keys(guards).map((name) => [
        `${type}-${name}`,
        { type, targets: [{ provider: 'openai', model: 'm' }], guards: [name] },
      ]),
    ),
  ),
});

type Kind = (typeof types)[number] | 'streamed image';
const orders: Record<Exclude<Kind, 'transcription'>, (model: string) => [path: string, json: object]> = {
  image: (model) => ['/v1/images/generations', { model, prompt: `Draw ${own}`, response_format: 'b64_json' }],
  'streamed image': (model) => ['/v1/images/generations', { model, prompt: `Draw ${own}`, stream: true }],
  speech: (model) => ['/v1/audio/speech', { model, input: `Say ${own}`, voice: 'alloy' }],
  video: (model) => ['/v1/videos', { model, prompt: `Show ${own}` }],
};

async function ask(kind: keyof typeof orders, name: string) {
  const [path, json] = orders[kind](`${kind.split(' ').at(-1)}-${name}`);
  const response = await gateway.fetch(path, { json });
  const text = await response.text();
  return { status: response.status, text, guard: response.headers.get('x-culvert-guard') ?? '' };
}

for (const kind of ['image', 'streamed image', 'video'] as const) {
  test(`${kind}: a guard that reads answers refuses before anybody is asked`, async () => {
    for (const name of ['masks', 'hears']) {
      const { status, text, guard } = await ask(kind, name);
      assert.equal(status, 400, text);
      assert.match(
        text,
        /cannot read the answer of this request, because it is not text\. Ask the operator to set on: \[input\] or/,
      );
      assert.match(guard, new RegExp(`^${name}=pass; unscanned; scanned=0%$`));
    }
    assert.equal(bodies.length, 0);
  });

  test(`${kind}: with on_error: allow its texts are read, and the header says what was not`, async () => {
    const { status, text, guard } = await ask(kind, 'lenient');
    assert.equal(status, 200, text);
    assert.ok(bodies[0]?.includes('<EMAIL_1>') && !bodies[0].includes(own), bodies[0]);
    // Our events of pictures have no text.
    assert.ok(kind === 'streamed image' || text.includes(`For ${own} and <EMAIL_2>`), text);
    assert.ok(!text.includes(made), text);
    assert.match(guard, /^lenient=masked:\d; unscanned; scanned=\d\d%$/);
    const blocked = await ask(kind, 'blocks');
    if (kind !== 'streamed image') assert.match(blocked.text, /The guard 'blocks' does not let the answer pass/);
    assert.ok(!blocked.text.includes(made), blocked.text);
  });

  test(`${kind}: guards that read no answers, or count, let it pass`, async () => {
    for (const [name, verdict] of [
      ['asks', /^asks=masked:1; scanned=100%$/],
      ['sizes', /^sizes=pass; scanned=100%$/],
      ['form', /^form=pass; scanned=100%$/],
      ['tools', /^tools=pass; scanned=100%$/],
      ['observes', /^observes=would-be-blocked:\d; unscanned; scanned=\d\d%$/],
    ] as const) {
      const { status, text, guard } = await ask(kind, name);
      assert.equal(status, 200, `${name}: ${text}`);
      assert.match(guard, verdict);
    }
  });
}

test('a picture that is edited: the prompt of its form is masked, and nobody reads the picture', async () => {
  const send = async (name: string) => {
    const form = new FormData();
    for (const [field, value] of Object.entries({ model: `image-${name}`, prompt: `Draw ${own}` }))
      form.set(field, value);
    form.set('image', new Blob([Buffer.from(picture, 'base64')], { type: 'image/png' }), 'a.png');
    const response = await gateway.fetch('/v1/images/edits', { method: 'POST', body: form });
    return { status: response.status, text: await response.text(), guard: response.headers.get('x-culvert-guard') };
  };
  const { status, text, guard } = await send('lenient');
  assert.equal(status, 200, text);
  assert.ok(bodies[0]?.includes('<EMAIL_1>') && !bodies[0].includes(own), bodies[0]?.slice(0, 500));
  assert.match(guard ?? '', /^lenient=masked:\d; unscanned; scanned=\d\d%$/);
  const refused = await send('asks');
  assert.equal(refused.status, 400, refused.text);
  assert.match(refused.text, /The guard 'asks' cannot read/);
  assert.equal(bodies.length, 1);
});

test('speech says the text of its request, which a guard of requests has read', async () => {
  const { status, guard } = await ask('speech', 'masks');
  assert.deepEqual([status, guard], [200, 'masks=masked:1; scanned=100%']);
  assert.ok(bodies[0]?.includes('Say <EMAIL_1>'), bodies[0]);
  const unheard = await ask('speech', 'hears');
  assert.equal(unheard.status, 400, unheard.text);
  assert.equal(bodies.length, 1);
  assert.match((await ask('speech', 'blocks')).guard, /^blocks=pass; unscanned; scanned=0%$/);
});

for (const format of ['json', 'text', 'srt', 'verbose_json', 'stream']) {
  test(`transcription, ${format}: a transcript is read`, async () => {
    const form = new FormData();
    const send = async (name: string) => {
      form.set('model', `transcription-${name}`);
      form.set('prompt', `A call of ${own}`);
      form.set('file', new Blob([new Uint8Array(mp3Frames)], { type: 'audio/mpeg' }), 'a.mp3');
      if (format === 'stream') form.set('stream', 'true');
      else form.set('response_format', format);
      const response = await gateway.fetch('/v1/audio/transcriptions', { method: 'POST', body: form });
      return {
        status: response.status,
        text: await response.text(),
        guard: response.headers.get('x-culvert-guard'),
        type: response.headers.get('content-type'),
      };
    };
    const { status, text, guard } = await send('lenient');
    assert.equal(status, 200, text);
    const said =
      format === 'stream' ? [...text.matchAll(/"delta":"([^"]*)"/g)].map(([, piece]) => piece).join('') : text;
    assert.ok(said.includes(`For ${own} and <EMAIL_2>`) && !text.includes(made), text);
    // The recording is a part that nobody reads.
    assert.match(guard ?? '', /^lenient=masked:\d; unscanned; scanned=\d\d%$/);
    const blocked = await send('blocks');
    assert.ok(
      /guard_blocked|does not let the answer pass/.test(blocked.text) && !blocked.text.includes(made),
      blocked.text,
    );
    if (format !== 'stream') assert.deepEqual([blocked.status, blocked.type], [400, 'application/json']);
    const refused = await send('masks');
    assert.equal(refused.status, 400, refused.text);
  });
}
