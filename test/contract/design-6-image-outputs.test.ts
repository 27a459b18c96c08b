import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import OpenAI from 'openai';
import { type Drawing, imageWorld, inBase64, startDrawing } from './image-world.ts';

const file = { after: after as TestContext['after'] };
const [first, second] = await Promise.all([startDrawing(inBase64), startDrawing(inBase64)]);
after(() => Promise.all([first.close(), second.close()]));

const provider = (url: string) => ({ type: 'openai', base_url: `${url}/v1`, api_key: 'upstream-secret' });
const { gateway } = await imageWorld(file, {
  providers: {
    one: provider(first.url),
    two: provider(second.url),
    google: { ...provider(first.url), type: 'gemini' },
  },
  models: {
    pic: { type: 'image', targets: ['one/gpt-image-2.6-sunburst', { provider: 'two', model: 'other', priority: 2 }] },
    banana: { type: 'image', targets: ['google/gemini-2.5-flash-image'] },
  },
});
const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });

const svg = '<?xml version="1.0"?>\n<!-- drawn --><svg xmlns="http://www.w3.org/2000/svg"><circle r="4"/></svg>\n';
const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
const drawn = (bytes: Buffer, more = {}): Drawing => ({
  json: { created: 1, data: [{ b64_json: bytes.toString('base64') }], ...more },
});

test("pictures as SVG: the wishes of today's SDK arrive as they are, and a link opens it as a picture alone", async () => {
  const svg_usage = { model: 'gpt-6', input_tokens: 20, output_tokens: 300, reasoning_tokens: 100, total_tokens: 320 };
  const usage = { input_tokens: 5, output_tokens: 100, total_tokens: 105 };
  first.script.push(drawn(Buffer.from(svg), { output_format: 'svg', usage, svg_usage }));
  const wish = {
    quality: 'max',
    complexity: 'high',
    output_format: 'svg',
    svg: { model: 'gpt-6', reasoning: { effort: 'low' } },
    safety_identifier: 'user-1',
  } as const;
  const { data: answer, response } = await openai.images
    .generate({ model: 'pic', prompt: 'A ring', n: 1, ...wish })
    .withResponse();
  assert.equal(answer.output_format, 'svg');
  assert.deepEqual(answer.svg_usage, svg_usage);
  const { model, prompt, n, ...sent } = first.calls.at(-1)!.body;
  assert.deepEqual([model, prompt, n], ['gpt-image-2.6-sunburst', 'A ring', 1]);
  assert.deepEqual(sent, wish);
  const record = await gateway.fetch(`/v1/requests/${response.headers.get('x-culvert-request-id')}`);
  const { usage: charged } = (await record.json()) as { usage: { input_tokens: number; output_tokens: number } };
  assert.deepEqual([charged.input_tokens, charged.output_tokens], [25, 400], 'with those of the model that wrote it');
  first.script.push(drawn(Buffer.from(svg), { output_format: 'svg', svg_usage }));
  const uncounted = await openai.images.generate({ model: 'pic', prompt: 'A ring', n: 1, ...wish }).withResponse();
  const second = await gateway.fetch(`/v1/requests/${uncounted.response.headers.get('x-culvert-request-id')}`);
  const { usage: estimated } = (await second.json()) as { usage: { input_tokens: number; output_tokens: number } };
  assert.equal(estimated.output_tokens, 300, 'the tokens of the SVG alone');
  assert.ok(estimated.input_tokens > 20);
  const link = await fetch(answer.data![0]!.url!);
  assert.equal(link.headers.get('content-type'), 'image/svg+xml');
  assert.match(link.headers.get('content-security-policy')!, /default-src 'none'.*sandbox/);
  assert.equal(await link.text(), svg);
});

test('pictures as GIF come through, with their frames', async () => {
  first.script.push(drawn(gif));
  const frames = { output_format: 'gif', frame_count: 4, frame_duration_ms: 80 } as const;
  const wish = { model: 'pic', prompt: 'A ring that turns', response_format: 'b64_json', ...frames } as const;
  const { data } = await openai.images.generate(wish);
  assert.deepEqual(Buffer.from(data![0]!.b64_json!, 'base64'), gif);
  assert.equal(first.calls.at(-1)!.body.frame_count, 4);
  first.script.push(drawn(gif));
  const linked = await openai.images.generate({ model: 'pic', prompt: 'A ring that turns', ...frames });
  assert.equal((await fetch(linked.data![0]!.url!)).headers.get('content-type'), 'image/gif');
});

test('a GIF or an SVG that is cut counts as a failure, and the next target draws', async () => {
  for (const cut of [gif.subarray(0, 20), Buffer.from(svg.slice(0, 60)), Buffer.from(`<html>${svg}</html>`)]) {
    first.script.push(drawn(cut));
    second.script.push(drawn(Buffer.from(svg)));
    const before = second.calls.length;
    const { data } = await openai.images.generate({ model: 'pic', prompt: 'A ring', response_format: 'b64_json' });
    assert.equal(Buffer.from(data![0]!.b64_json!, 'base64').toString(), svg);
    assert.equal(second.calls.length, before + 1);
  }
});

test('a model that makes neither is not asked for them', async () => {
  const before = first.calls.length;
  const refused = openai.images.generate({ model: 'banana', prompt: 'A ring', output_format: 'gif' });
  await assert.rejects(refused, (error: InstanceType<typeof OpenAI.APIError>) => {
    assert.equal(error.status, 400);
    assert.equal(error.param, 'output_format');
    return true;
  });
  assert.equal(first.calls.length, before);
});
