import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, type TestContext, test } from 'node:test';
import OpenAI from 'openai';
import { specValidator } from '../spec/validate.ts';
import {
  type DrawCall,
  type Drawing,
  type Drawn,
  imagesPath,
  imageWorld,
  inBase64,
  jpeg,
  png,
  startDrawing,
  webp,
} from './image-world.ts';
import type { ErrorBody } from './served.ts';

const file = { after: after as TestContext['after'] };
const [first, second] = await Promise.all([startDrawing(inBase64), startDrawing(inBase64)]);
after(() => Promise.all([first.close(), second.close()]));

const provider = (url: string) => ({ type: 'openai', base_url: `${url}/v1`, api_key: 'upstream-secret' });
const google = (url: string) => ({ type: 'gemini', base_url: `${url}/v1beta`, api_key: 'upstream-secret' });
const config = {
  providers: {
    one: provider(first.url),
    two: provider(second.url),
    google: google(first.url),
    flux: { type: 'together', base_url: `${second.url}/v1`, api_key: 'upstream-secret' },
    claude: { type: 'anthropic', base_url: `${first.url}/v1`, api_key: 'upstream-secret' },
  },
  models: {
    pic: {
      type: 'image',
      targets: [
        { provider: 'one', model: 'pic-1', price: { image: 0.04 } },
        { provider: 'two', model: 'pic-2', priority: 2, price: { image: 0.1 } },
      ],
    },
    banana: { type: 'image', targets: ['google/gemini-2.5-flash-image', { provider: 'two', model: 'x', priority: 2 }] },
    thinker: {
      type: 'image',
      targets: [{ provider: 'google', model: 'gemini-3-pro-image', price: { output: 12, image_output: 120 } }],
    },
    seedream: { type: 'image', targets: [{ provider: 'one', model: 'seedream-4', price: { output: 1 } }] },
    imagen: { type: 'image', targets: ['google/imagen-4.0-generate-001'] },
    flux: { type: 'image', targets: ['flux/flux-1'] },
    'gpt-image-1': { type: 'image', targets: ['one/pic-1'] },
    'one/gpt-image-1': { type: 'image', targets: ['one/pic-1'] },
    'chatgpt-image-latest': { type: 'image', targets: ['one/pic-1'] },
    'flux-first': { type: 'image', targets: ['flux/flux-1', { provider: 'one', model: 'pic-1', priority: 2 }] },
    claude: { targets: ['claude/some'] },
  },
};
/** For failing calls: health belongs to a gateway, and other tests must not meet it. */
const anew = (t: TestContext) => imageWorld(t, config);
const { ask, draw, gateway, record } = await imageWorld(file, config);

function clear(): void {
  for (const upstream of [first, second]) {
    upstream.calls.length = 0;
    upstream.script.length = 0;
    upstream.atOnce = 0;
  }
}

async function refusal(json: unknown): Promise<{ status: number; param: string | null; message: string }> {
  const response = await ask(json);
  const { error } = (await response.json()) as ErrorBody;
  return { status: response.status, param: error.param, message: error.message };
}

/** Without a key: a browser has none. */
const open = (url: string | undefined, init?: RequestInit) => fetch(url!, init);

const failing: Drawing = { status: 503, json: { error: { message: 'busy' } } };
/** More than a request has attempts. */
const manyFailures = Array.from({ length: 8 }, () => failing);

test('§4.7 "data[], each item carrying url": what an upstream gives as base64 is served by a link without a key', async () => {
  clear();
  const answer = await draw({ model: 'pic', prompt: 'A lighthouse', n: 1, size: '1024x1024' });
  assert.deepEqual(specValidator('openai', 'ImagesResponse')(answer), []);
  const [picture] = answer.data;
  assert.equal(picture!.b64_json, undefined);
  assert.ok(picture!.url!.startsWith(`${gateway.url}/v1/files-signed/`), picture!.url);
  const opened = await open(picture!.url);
  assert.equal(opened.status, 200);
  assert.equal(opened.headers.get('content-type'), 'image/png');
  assert.equal(opened.headers.get('x-content-type-options'), 'nosniff');
  assert.match(opened.headers.get('cache-control')!, /^private, max-age=3[56]\d\d, immutable$/);
  assert.deepEqual(Buffer.from(await opened.arrayBuffer()), png(0));
  const { body, path } = first.calls[0]!;
  assert.equal(path, imagesPath);
  assert.deepEqual(body, { model: 'pic-1', prompt: 'A lighthouse', n: 1, size: '1024x1024' });
});

for (const response_format of ['b64_json', 'base64']) {
  test(`§4.7 "when response_format is b64_json, b64_json", which Together's clients call base64 (${response_format})`, async () => {
    clear();
    const answer = await draw({ model: 'pic', prompt: 'A lighthouse', response_format });
    assert.deepEqual(answer.data, [{ b64_json: png(0).toString('base64') }]);
    assert.equal(first.calls[0]!.body.response_format, 'b64_json');
  });
}

test("models named gpt-image answer OpenAI's SDK in base64 unless it asks for a link; others give links", async () => {
  const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  const drawn = async (model: string, form?: 'url') => {
    const { data } = await openai.images.generate({ model, prompt: 'x', ...(form && { response_format: form }) });
    return Object.keys(data![0]!);
  };
  for (const model of ['gpt-image-1', 'one/gpt-image-1', 'chatgpt-image-latest']) {
    assert.deepEqual(await drawn(model), ['b64_json'], model);
    assert.deepEqual(await drawn(model, 'url'), ['url'], model);
  }
  assert.deepEqual(await drawn('pic'), ['url']);
});

test('design §6: the link opens for HEAD too, and for nobody who changed it', async () => {
  const { url } = (await draw({ model: 'pic', prompt: 'x' })).data[0]!;
  const head = await open(url, { method: 'HEAD' });
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, String(png(0).length)]);
  assert.equal(await head.text(), '');
  const changed = (change: (link: URL) => void) => {
    const link = new URL(url!);
    change(link);
    return link.href;
  };
  for (const forged of [
    changed(({ searchParams }) => searchParams.set('exp', String(Number(searchParams.get('exp')) + 3_600))),
    changed(({ searchParams }) => searchParams.set('sig', 'x'.repeat(43))),
    changed(({ searchParams }) => searchParams.delete('sig')),
    changed((link) => {
      link.search = '';
    }),
    changed((link) => {
      link.pathname = link.pathname.replace(/[^/]{8}\.png$/, 'AAAAAAAA.png');
    }),
    changed((link) => {
      link.pathname = '/v1/files-signed/..%2f..%2fsecret';
    }),
  ]) {
    const refused = await open(forged);
    assert.equal(refused.status, 404, forged);
    assert.equal(((await refused.json()) as ErrorBody).error.type, 'not_found_error');
  }
});

test('design §6: the format of a picture is what its bytes say, whatever anybody calls it', async () => {
  for (const [bytes, type] of [
    [jpeg, 'image/jpeg'],
    [webp, 'image/webp'],
  ] as const) {
    clear();
    first.script.push({ json: { data: [{ b64_json: `data:image/png;base64,${bytes.toString('base64')}` }] } });
    const { data } = await draw({ model: 'pic', prompt: 'x' });
    const opened = await open(data[0]!.url);
    assert.equal(opened.headers.get('content-type'), type);
    assert.deepEqual(Buffer.from(await opened.arrayBuffer()), bytes);
  }
});

test('design §6: a link of the Internet is passed on as it is when a link is wanted', async () => {
  clear();
  const link = 'https://pictures.example.org/a.png?sig=1';
  first.script.push({ json: { data: [{ url: link, revised_prompt: 'A tall lighthouse' }] } });
  const { data } = await draw({ model: 'pic', prompt: 'x' });
  assert.deepEqual(data, [{ url: link, revised_prompt: 'A tall lighthouse' }]);
});

test('design §6: an upstream that gives links only is fetched from when base64 is wanted', async (t) => {
  clear();
  const made: Drawing = (response) => response.end(png(7));
  const maker = await startDrawing((call) => (call.path === '/made/1.png' ? made : inBase64(call)));
  t.after(() => maker.close());
  const { draw: drawHere } = await imageWorld(t, {
    providers: { one: provider(maker.url) },
    models: { pic: { type: 'image', targets: ['one/pic-1'] } },
  });
  maker.script.push({ json: { data: [{ url: `${maker.url}/made/1.png` }] } });
  const { data } = await drawHere({ model: 'pic', prompt: 'x', response_format: 'b64_json' });
  assert.deepEqual(data, [{ b64_json: png(7).toString('base64') }]);

  // A link into the operator's own machines is of no use to a caller: the picture is served from here.
  maker.script.push({ json: { data: [{ url: `${maker.url}/made/1.png` }] } });
  const [picture] = (await drawHere({ model: 'pic', prompt: 'x' })).data;
  assert.ok(!picture!.url!.startsWith(maker.url), picture!.url);
  assert.deepEqual(Buffer.from(await (await open(picture!.url)).arrayBuffer()), png(7));

  // Another private address than the upstream's own is behind the guard (S17), so the next target is asked.
  first.script.push({ json: { data: [{ url: `${second.url}/made/1.png` }] } });
  const { draw: drawAnew } = await anew(t);
  assert.deepEqual((await drawAnew({ model: 'pic', prompt: 'x', response_format: 'b64_json' })).data, [
    { b64_json: png(0).toString('base64') },
  ]);
  assert.equal(second.calls.length, 1);
});

for (const [what, fields, param] of [
  ['no model', { prompt: 'x', model: undefined }, 'model'],
  ['no prompt', { prompt: undefined }, 'prompt'],
  ['an empty prompt', { prompt: '' }, 'prompt'],
  ['a prompt that is no text', { prompt: 7 }, 'prompt'],
  ['a prompt of 32,001 characters', { prompt: 'x'.repeat(32_001) }, 'prompt'],
  ['n of 0', { n: 0 }, 'n'],
  ['n of 11', { n: 11 }, 'n'],
  ['half an n', { n: 1.5 }, 'n'],
  ['n as text', { n: '2' }, 'n'],
  ['a size without height', { size: '1024' }, 'size'],
  ['a size of 0', { size: '0x1024' }, 'size'],
  ['a size beyond all bounds', { size: '99999x99999' }, 'size'],
  ['a negative size', { size: '-1x10' }, 'size'],
  ['a size as a number', { size: 1_024 }, 'size'],
  ['an unknown response_format', { response_format: 'png' }, 'response_format'],
  ['an unknown output_format', { output_format: 'bmp' }, 'output_format'],
  ['an unknown quality', { quality: 'best' }, 'quality'],
  ['an unknown style', { style: 'cubist' }, 'style'],
  ['an unknown background', { background: 'pink' }, 'background'],
  ['a transparent JPEG', { background: 'transparent', output_format: 'jpeg' }, 'background'],
  ['a compression of 101', { output_compression: 101 }, 'output_compression'],
  ['a stream of links', { stream: true, response_format: 'url' }, 'response_format'],
  ['four unfinished pictures', { stream: true, partial_images: 4 }, 'partial_images'],
  ['a user of 257 characters', { user: 'x'.repeat(257) }, 'user'],
] as const) {
  test(`§4.7 design §6: ${what} is a 400 that names ${param}, and asks nobody`, async () => {
    clear();
    const refused = await refusal({ model: 'pic', prompt: 'x', ...fields });
    assert.deepEqual([refused.status, refused.param], [400, param], refused.message);
    assert.ok(refused.message.includes(`'${param}'`), refused.message);
    assert.equal(first.calls.length + second.calls.length, 0);
  });
}

test('design §6: an unknown model is a 404, one that makes no pictures a 400', async () => {
  assert.equal((await refusal({ model: 'nope', prompt: 'x' })).status, 404);
  const refused = await refusal({ model: 'claude', prompt: 'x' });
  assert.deepEqual([refused.status, refused.param], [400, 'model']);
});

test('design §6: a size that a provider does not make goes to the next one, and is a 400 naming it when none does', async () => {
  clear();
  const refused = await refusal({ model: 'flux', prompt: 'x', size: '1001x1001' });
  assert.deepEqual([refused.status, refused.param], [400, 'size']);
  assert.match(refused.message, /1001x1001.*multiples of 8/);
  await draw({ model: 'flux-first', prompt: 'x', size: '1001x1001' });
  assert.deepEqual([first.calls.length, second.calls.length], [1, 0]);
  await draw({ model: 'flux-first', prompt: 'x', size: '1000x1000' });
  assert.deepEqual([first.calls.length, second.calls.length], [1, 1]);
  assert.deepEqual(second.calls[0]!.body, { model: 'flux-1', prompt: 'x', n: 1, width: 1_000, height: 1_000 });
});

test('design §6: wishes that a provider cannot be told are dropped and listed; a transparent background is not', async () => {
  clear();
  const response = await ask({ model: 'flux', prompt: 'x', quality: 'high', style: 'vivid', user: 'u' });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('x-culvert-dropped'), 'quality, style, user');
  assert.deepEqual((await refusal({ model: 'flux', prompt: 'x', background: 'transparent' })).param, 'background');
  assert.deepEqual((await refusal({ model: 'flux', prompt: 'x', output_format: 'webp' })).param, 'output_format');
});

/** Google's answer of one picture. */
const googles = (shade = 0): Drawing => ({
  json: {
    candidates: [
      { content: { parts: [{ inlineData: { mimeType: 'image/png', data: png(shade).toString('base64') } }] } },
    ],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 1_290 },
  },
});

test('design §6: n pictures of a provider that draws one a call are several calls, four at a time, and cost n', async () => {
  clear();
  // They are answered when four are there, and a moment later, in which a fifth would come.
  const waiting: (() => void)[] = [];
  const release = () => {
    for (const answerNow of waiting.splice(0)) answerNow();
  };
  for (let i = 0; i < 6; i++) {
    first.script.push((response) => {
      waiting.push(() => response.end(JSON.stringify((googles(i) as { json: unknown }).json)));
      if (waiting.length >= 4) setTimeout(release, 50);
      if (i >= 4) waiting.pop()!();
    });
  }
  const response = await ask({ model: 'banana', prompt: 'x', n: 6, response_format: 'b64_json' });
  const { data } = (await response.json()) as Drawn;
  assert.equal(data.length, 6);
  assert.deepEqual(
    data.map(({ b64_json }) => b64_json).sort(),
    Array.from({ length: 6 }, (_, i) => png(i).toString('base64')).sort(),
  );
  assert.equal(first.calls.length, 6);
  assert.equal(first.atOnce, 4);
  assert.equal(response.headers.get('x-culvert-cost'), '6');
  const { units, usage } = await record(response);
  assert.equal(units, 6);
  assert.deepEqual(usage, { ...usage, images: 6, input_tokens: 60, output_tokens: 7_740, source: 'upstream' });
});

test('thoughts and words beside a picture of Google’s are not charged as the picture, and its own input is told apart', async () => {
  clear();
  const details = (IMAGE: number, TEXT: number) =>
    Object.entries({ IMAGE, TEXT }).map(([modality, tokenCount]) => ({ modality, tokenCount }));
  const counts = {
    promptTokenCount: 300,
    candidatesTokenCount: 1_200,
    thoughtsTokenCount: 300,
    totalTokenCount: 1_800,
  };
  const parts = { promptTokensDetails: details(260, 40), candidatesTokensDetails: details(1_120, 80) };
  const costs: (number | null)[] = [];
  for (const usageMetadata of [{ ...counts, ...parts }, counts]) {
    first.script.push({ json: { ...(googles() as { json: object }).json, usageMetadata } });
    const response = await ask({ model: 'thinker', prompt: 'x' });
    const { usage } = (await response.json()) as { usage: Record<string, object> };
    const [drawn, seen] = 'promptTokensDetails' in usageMetadata ? [1_120, 260] : [1_200, 0];
    assert.deepEqual(usage.input_tokens_details, { text_tokens: 300 - seen, image_tokens: seen });
    assert.deepEqual(usage.output_tokens_details, { text_tokens: 1_500 - drawn, image_tokens: drawn });
    costs.push((await record(response)).cost_usd);
  }
  assert.deepEqual(costs, [(1_120 * 120 + 380 * 12) / 1e6, (1_200 * 120 + 300 * 12) / 1e6]);
});

test('an answer that counts the output and the total alone is charged by them, as Seedream’s', async () => {
  clear();
  const usage = { generated_images: 1, output_tokens: 6_240, total_tokens: 6_240 };
  first.script.push({ json: { data: [{ b64_json: png().toString('base64') }], usage } });
  const response = await ask({ model: 'seedream', prompt: 'x' });
  const told = (await response.json()) as { usage?: { output_tokens: number; total_tokens: number } };
  assert.deepEqual([told.usage?.output_tokens, told.usage?.total_tokens], [6_240, 6_240]);
  const { cost_usd, usage: booked } = await record(response);
  assert.deepEqual([cost_usd, booked.output_tokens], [0.00624, 6_240]);
});

test('design §6: when a provider fails midway, the next one draws what is missing, no more', async (t) => {
  const { ask, record } = await anew(t);
  clear();
  first.script.push({
    json: { data: [{ b64_json: png(1).toString('base64') }, { b64_json: png(2).toString('base64') }] },
  });
  first.script.push(failing);
  const response = await ask({ model: 'pic', prompt: 'x', n: 5, response_format: 'b64_json' });
  const { data } = (await response.json()) as Drawn;
  assert.equal(data.length, 5);
  assert.deepEqual(
    first.calls.map(({ body }) => body.n),
    [5, 3],
  );
  assert.deepEqual(
    second.calls.map(({ body }) => body.n),
    [3],
  );
  const { route, usage, units, cost_usd } = await record(response);
  assert.deepEqual(
    route.attempts.map(({ class: ended, usage: used }) => [ended, used?.images]),
    [
      ['transient', 2],
      ['ok', 3],
    ],
  );
  assert.deepEqual([usage.images, units, cost_usd], [5, 5, 0.38]);
  assert.equal(response.headers.get('x-culvert-cost-usd'), '0.38');
});

test('design §6: all or nothing: pictures that could not all be had are a 502 that costs nothing', async (t) => {
  const { ask, record } = await anew(t);
  clear();
  first.script.push({ json: { data: [{ b64_json: png().toString('base64') }] } }, ...manyFailures);
  second.script.push(...manyFailures);
  const response = await ask({ model: 'pic', prompt: 'x', n: 3 });
  assert.equal(response.status, 502);
  assert.equal(response.headers.get('x-culvert-cost'), '0');
  assert.equal((await record(response)).units, 0);
});

const nonsense: readonly (readonly [string, Drawing])[] = [
  ['text in base64', { json: { data: [{ b64_json: Buffer.from('<html>').toString('base64') }] } }],
  ['half a picture', { json: { data: [{ b64_json: png().subarray(0, -12).toString('base64') }] } }],
  ['no pictures', { json: { data: [] } }],
  ['an entry without a picture', { json: { data: [{}] } }],
  ['an error inside a 200', { json: { error: { message: 'out of memory' } } }],
  ['no JSON', (response: Parameters<Extract<Drawing, (...args: never[]) => unknown>>[0]) => response.end('nonsense')],
];
for (const [what, drawing] of nonsense) {
  test(`design §6: an upstream that answers ${what} has not answered: the next one is asked`, async (t) => {
    const { ask } = await anew(t);
    clear();
    first.script.push(drawing);
    const response = await ask({ model: 'pic', prompt: 'x', response_format: 'b64_json' });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('x-culvert-provider'), 'two');
    assert.equal(second.calls.length, 1);
  });
}

test('design §6: more pictures than were asked for are not passed on', async () => {
  clear();
  first.script.push({ json: { data: Array.from({ length: 4 }, () => ({ b64_json: png().toString('base64') })) } });
  assert.equal((await draw({ model: 'pic', prompt: 'x', n: 2 })).data.length, 2);
});

test('design §8: a prompt that the provider refuses for its content ends the request as a 400', async () => {
  clear();
  first.script.push({ json: { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } } });
  const refused = await refusal({ model: 'banana', prompt: 'x' });
  assert.equal(refused.status, 400);
  assert.match(refused.message, /PROHIBITED_CONTENT/);
  first.script.push({ status: 400, json: { error: { message: 'blocked', code: 'content_policy_violation' } } });
  assert.equal((await refusal({ model: 'pic', prompt: 'x' })).status, 400);
});

test('design §6: Google’s models are asked in their own formats, sizes as ratios', async () => {
  clear();
  first.script.push(googles());
  await draw({ model: 'banana', prompt: 'A pier', size: '1344x768' });
  assert.equal(first.calls[0]!.path, '/v1beta/models/gemini-2.5-flash-image:generateContent');
  assert.deepEqual(first.calls[0]!.body, {
    contents: [{ role: 'user', parts: [{ text: 'A pier' }] }],
    generationConfig: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '16:9' } },
  });
  const prediction = { bytesBase64Encoded: png().toString('base64'), mimeType: 'image/png' };
  first.script.push({ json: { predictions: [prediction, prediction] } });
  const response = await ask({ model: 'imagen', prompt: 'A pier', n: 2, size: '1792x1024', output_format: 'jpeg' });
  assert.equal(((await response.json()) as Drawn).data.length, 2);
  assert.equal(response.headers.get('x-culvert-dropped'), 'size');
  assert.equal(first.calls[1]!.path, '/v1beta/models/imagen-4.0-generate-001:predict');
  assert.deepEqual(first.calls[1]!.body, {
    instances: [{ prompt: 'A pier' }],
    parameters: {
      sampleCount: 2,
      includeRaiReason: true,
      aspectRatio: '16:9',
      outputOptions: { mimeType: 'image/jpeg' },
    },
  });
});

test('design §11: the ledger has the number of pictures and what they cost', async () => {
  clear();
  const response = await ask({ model: 'pic', prompt: 'x', n: 3, user: 'user-7' });
  await response.text();
  const { usage, cost_usd, units } = await record(response);
  assert.deepEqual([usage.images, cost_usd, units], [3, 0.12, 3]);
});

test('design §6: what gpt-image models say of tokens is passed on', async () => {
  clear();
  const usage = {
    input_tokens: 50,
    output_tokens: 272,
    total_tokens: 322,
    input_tokens_details: { text_tokens: 10, image_tokens: 40 },
    output_tokens_details: { text_tokens: 72, image_tokens: 200 },
  };
  const facts = { size: '1024x1024', safety_identifier: 'user-7' };
  const drawn = { json: { created: 1, ...facts, data: [{ b64_json: png().toString('base64') }], usage } };
  first.script.push(drawn, drawn, drawn);
  const answer = await draw({ model: 'pic', prompt: 'x' });
  assert.deepEqual(answer.usage, usage);
  const { size, safety_identifier } = answer as unknown as Record<string, string>;
  assert.deepEqual({ size, safety_identifier }, facts);
  const both = (await draw({ model: 'pic', prompt: 'x', n: 2 })).usage as typeof usage;
  assert.deepEqual(both.output_tokens_details, { text_tokens: 144, image_tokens: 400 });
});

test('pictures of several megabytes come through whole, as base64 and by link', async () => {
  const large = png(3, randomBytes(3 * 1024 * 1024));
  for (const form of ['b64_json', 'url'] as const) {
    clear();
    first.script.push({ json: { data: [{ b64_json: large.toString('base64') }] } });
    const [picture] = (await draw({ model: 'pic', prompt: 'x', response_format: form })).data;
    const bytes =
      form === 'url'
        ? Buffer.from(await (await open(picture!.url)).arrayBuffer())
        : Buffer.from(picture!.b64_json!, 'base64');
    assert.ok(bytes.equals(large));
  }
});

test('a caller who leaves takes the calls along, and pays for no picture', { timeout: 60_000 }, async () => {
  clear();
  const leaving = new AbortController();
  const arrived: DrawCall[] = [];
  let closed = 0;
  const allClosed = new Promise<void>((resolve) => {
    for (let i = 0; i < 2; i++) {
      first.script.push((response, call) => {
        response.on('close', () => {
          closed++;
          if (closed === 2) resolve();
        });
        if (arrived.push(call) === 2) leaving.abort();
      });
    }
  });
  await assert.rejects(ask({ model: 'banana', prompt: 'x', n: 2 }, { signal: leaving.signal }));
  await allClosed;
  assert.equal(second.calls.length, 0);
});

test('server.public_url is what links begin with', async (t) => {
  const { draw: drawHere, gateway: here } = await imageWorld(t, {
    server: { public_url: 'https://ai.example.org/gate/' },
    providers: { one: provider(first.url) },
    models: { pic: { type: 'image', targets: ['one/pic-1'] } },
  });
  clear();
  const { url } = (await drawHere({ model: 'pic', prompt: 'x' })).data[0]!;
  assert.ok(url!.startsWith('https://ai.example.org/gate/v1/files-signed/'), url);
  const opened = await open(url!.replace('https://ai.example.org/gate', here.url));
  assert.equal(opened.status, 200);
});

test('an Idempotency-Key draws once', async () => {
  clear();
  const headers = { 'idempotency-key': 'draw-once' };
  const json = { model: 'pic', prompt: 'x' };
  const [one, other] = [await ask(json, { headers }), await ask(json, { headers })];
  assert.deepEqual(await one.json(), await other.json());
  assert.equal(first.calls.length, 1);
});

test('the openai SDK gets links, and base64 where it asks for it', async () => {
  clear();
  const client = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1` });
  const byLink = await client.images.generate({ model: 'pic', prompt: 'A lighthouse', n: 2, size: '512x512' });
  assert.equal(byLink.data!.length, 2);
  assert.equal((await open(byLink.data![0]!.url)).status, 200);
  const inline = await client.images.generate({ model: 'pic', prompt: 'x', response_format: 'b64_json' });
  assert.deepEqual(Buffer.from(inline.data![0]!.b64_json!, 'base64'), png(0));
  await assert.rejects(client.images.generate({ model: 'pic', prompt: '' }), { status: 400 });
});
