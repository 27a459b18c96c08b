import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { startAwkwardSite } from './awkward-site.ts';

/* The formats that are more than a page's own words: pictures, attributes, and what a chat model writes. */

const shop = `<!doctype html><html lang="en"><head><title>Kettle</title><base href="/shop/">
<meta property="og:image" content="https://img.example/og.png"><link rel="icon" href="/icon.svg"></head><body><main>
<h1>Kettle</h1><p class="price" data-amount="19.90">It costs 19.90 euros, and has been on offer for quite some time.</p>
<p class="price" data-amount="24.90">The larger one costs 24.90 euros.</p>
<img src="a.png" srcset="a-2x.png 2x, https://img.example/a,3.png 3x" alt="A kettle"><img src="data:image/gif;base64,R0lG">
<picture><source srcset="b.webp"><img src="b.png" alt=""></picture><video poster="film.jpg"></video></main></body></html>`;

/** Pictures as sites have them that load them late. */
const late = `<!doctype html><html><head><title>Late</title></head><body><main><h1>Late</h1>
<p>Pictures of this page come when somebody scrolls to them, and until then a placeholder has their place.</p>
<p><img data-src="one.png" src="data:image/gif;base64,R0lG" alt="One"> <img data-lazy-src="two.png" src="blank.svg" alt="Two">
<img srcset="three.png 1x, three-2x.png 2x" alt="Three"> <img data-srcset="four.png 480w" alt="Four"> <img alt="None">
<img src="data:image/gif;base64,R0lG" alt="Inlined"></p></main></body></html>`;

interface Page {
  images?: string[];
  attributes?: unknown;
  summary?: string;
  json?: unknown;
  extract?: unknown;
  markdown?: string;
  warning?: string;
  metadata: { model?: string; title: string };
}

async function startShop(t: TestContext) {
  return startAwkwardSite(t, {
    '/shop': (response) => response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(shop),
    '/late': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end(late),
    '/pdf': (response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('Only words.'),
  });
}

/** A chat model that answers with these words, one after another; a number is a refusal with this status. */
async function startModel(t: TestContext, answers: readonly (string | number)[]) {
  const asked: { messages: { role: string; content: string }[]; response_format?: { type: string } }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.method !== 'POST') return response.writeHead(404).end();
    const body = JSON.parse(Buffer.concat(chunks).toString());
    const answer = answers[asked.length];
    asked.push(body);
    response.setHeader('content-type', 'application/json');
    if (typeof answer === 'number') {
      response.statusCode = answer;
      return response.end(JSON.stringify({ error: { message: 'No such form here.', type: 'invalid_request_error' } }));
    }
    const choice = { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: answer ?? 'nothing' } };
    const usage = { prompt_tokens: 70, completion_tokens: 30, total_tokens: 100 };
    return response.end(
      JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [choice], usage }),
    );
  });
  const url = await listening(t, server);
  return { asked, url: `${url}/v1` };
}

async function startWith(t: TestContext, answers: readonly (string | number)[], config: object = {}) {
  const site = await startShop(t);
  const model = await startModel(t, answers);
  const gateway = await startGateway(t, {
    fetch: { allow_private: [site.place] },
    providers: { up: { type: 'openai', base_url: model.url, api_key: 'k' } },
    models: { writer: { targets: ['up/one'] }, other: { targets: ['up/two'] } },
    tools: { crawl: { delay: '0ms' } },
    ...config,
  });
  return { site, gateway, asked: model.asked };
}

async function scrape(gateway: TestGateway, body: object, at = '/v2') {
  const response = await gateway.fetch(`${at}/scrape`, { json: body });
  const answer = (await response.json()) as { data: Page; error?: string; warning?: string };
  return { status: response.status, cost: response.headers.get('x-culvert-cost'), ...answer };
}

const price = {
  type: 'object',
  properties: { name: { type: 'string' }, price: { type: 'number', minimum: 0 } },
  required: ['name', 'price'],
  additionalProperties: false,
};
const kettle = { name: 'Kettle', price: 19.9 };

test('pictures that are loaded late are in the markdown, not their placeholders', async (t) => {
  const { site, gateway } = await startWith(t, []);
  const { data } = await scrape(gateway, { url: `${site.url}/late`, formats: ['markdown', 'images'] });
  const pictures = [...data.markdown!.matchAll(/!\[(\w*)\]\(([^)]*)\)/g)].map(([, alt, url]) => [alt, url]);
  assert.deepEqual(
    pictures,
    ['one', 'two', 'three', 'four'].map((name) => [name[0]!.toUpperCase() + name.slice(1), `${site.url}/${name}.png`]),
    data.markdown,
  );
  assert.ok(data.images!.includes(`${site.url}/two.png`));
});

test('a page comes with its pictures and with values of its attributes', async (t) => {
  const { site, gateway } = await startWith(t, []);
  const selectors = [
    { selector: '.price', attribute: 'data-amount' },
    { selector: 'h6', attribute: 'id' },
  ];
  const formats = ['images', { type: 'attributes', selectors }];
  for (const again of [false, true]) {
    const { status, data } = await scrape(gateway, { url: `${site.url}/shop`, formats });
    assert.equal(status, 200);
    assert.deepEqual(
      data.images?.map((image) => image.replace(site.url, '')),
      [
        '/shop/a.png',
        '/shop/b.png',
        '/shop/film.jpg',
        'https://img.example/og.png',
        '/icon.svg',
        '/shop/a-2x.png',
        'https://img.example/a,3.png',
        '/shop/b.webp',
      ],
      `kept or not: ${again}`,
    );
    assert.deepEqual(data.attributes, [
      { ...selectors[0], values: ['19.90', '24.90'] },
      { ...selectors[1], values: [] },
    ]);
    assert.equal(data.markdown, undefined);
  }
  const { data } = await scrape(gateway, { url: `${site.url}/pdf`, formats });
  assert.deepEqual([data.images, (data.attributes as { values: unknown }[])[0]!.values], [[], []]);
});

test('a chat model writes a summary and JSON that fits the schema, as calls of the key', async (t) => {
  const { site, gateway, asked } = await startWith(t, ['A kettle for 19.90 euros. ', JSON.stringify(kettle)]);
  const formats = ['summary', { type: 'json', schema: price, prompt: 'The cheapest one' }];
  const { status, data, cost } = await scrape(gateway, { url: `${site.url}/shop`, formats });
  assert.equal(status, 200);
  assert.equal(data.summary, 'A kettle for 19.90 euros.');
  assert.deepEqual(data.json, kettle);
  assert.equal(data.metadata.model, 'writer');
  assert.equal(data.markdown, undefined);
  assert.equal(data.warning, undefined);
  assert.equal(cost, '1');
  assert.match(asked[0]!.messages[1]!.content, /Title: Kettle\n\n# Kettle\n\nIt costs 19\.90 euros/);
  assert.equal(asked[1]!.response_format?.type, 'json_schema');
  assert.match(asked[1]!.messages[0]!.content, /The cheapest one/);
  const usage = (await (await gateway.fetch('/v1/usage?group_by=endpoint')).json()) as {
    data: { group: string; requests: number; input_tokens: number; output_tokens: number }[];
  };
  const [chat] = usage.data.filter(({ group }) => group === 'chat');
  assert.deepEqual([chat?.requests, chat?.input_tokens, chat?.output_tokens], [2, 140, 60]);
});

test('JSON that does not fit is sent back once, and then left out with a warning', async (t) => {
  const wrong = JSON.stringify({ name: 'Kettle', price: 'cheap' });
  const { site, gateway, asked } = await startWith(t, [
    wrong,
    `\`\`\`json\n${JSON.stringify(kettle)}\n\`\`\``,
    'no',
    '{}',
  ]);
  const body = { url: `${site.url}/shop`, formats: [{ type: 'json', schema: price }] };
  assert.deepEqual((await scrape(gateway, body)).data.json, kettle);
  assert.match(asked[1]!.messages.at(-1)!.content, /the answer\.price must be of type number/);
  const { status, data, warning } = await scrape(gateway, body);
  assert.equal(status, 200);
  assert.equal(data.json, undefined);
  assert.equal(
    warning,
    "The format json could not be written: the answer of 'writer' does not fit: the answer must have 'name'.",
  );
  assert.equal(data.warning, warning);
  assert.equal(asked.length, 4);
});

test('a service that takes no schema is asked in words', async (t) => {
  const { site, gateway, asked } = await startWith(t, [400, JSON.stringify(kettle)]);
  const { data } = await scrape(gateway, { url: `${site.url}/shop`, formats: [{ type: 'json', schema: price }] });
  assert.deepEqual(data.json, kettle);
  assert.deepEqual([asked[0]!.response_format?.type, asked[1]!.response_format], ['json_schema', undefined]);
});

test('a schema of an object need not say so; one of a list is asked for in words', async (t) => {
  const { site, gateway, asked } = await startWith(t, ['{"name":"Kettle"}', '["Kettle"]']);
  const wish = (schema: object) => ({ url: `${site.url}/shop`, formats: [{ type: 'json', schema }] });
  const object = await scrape(gateway, wish({ properties: { name: { type: 'string' } } }));
  assert.deepEqual(object.data.json, { name: 'Kettle' });
  const list = await scrape(gateway, wish({ type: 'array', items: { type: 'string' } }));
  assert.deepEqual(list.data.json, ['Kettle']);
  assert.deepEqual(
    asked.map(({ response_format }) => response_format?.type),
    ['json_schema', undefined],
  );
});

test('the model is the one that is configured, if the key may use it; without one nothing is fetched', async (t) => {
  const formats = ['summary'];
  const configured = await startWith(t, ['Words.'], { tools: { model: 'other' } });
  const { data } = await scrape(configured.gateway, { url: `${configured.site.url}/shop`, formats });
  assert.deepEqual([data.summary, data.metadata.model], ['Words.', 'other']);
  const keys = [{ key: 'sk-cv-test-key-0001', account: 'dev', name: 'test', models: ['nothing'] }];
  const without = await startWith(t, ['Words.'], { keys });
  const url = `${without.site.url}/shop`;
  for (const [path, body] of [
    ['/v2/scrape', { url, formats }],
    ['/v2/crawl', { url, scrapeOptions: { formats } }],
    ['/v2/batch/scrape', { urls: [url], formats }],
  ] as const) {
    const response = await without.gateway.fetch(path, { json: body });
    assert.equal(response.status, 501);
    assert.match(((await response.json()) as { error: string }).error, /need a chat model, and this key may use none/);
  }
  assert.equal(without.site.asked.get('/shop'), undefined);
});

test('pages of a batch are written of too; a page that is missing is not', async (t) => {
  const { site, gateway, asked } = await startWith(t, ['One.', 'Two.']);
  const begun = await gateway.fetch('/v2/batch/scrape', {
    json: { urls: [`${site.url}/shop`, `${site.url}/404`], formats: ['summary'], maxConcurrency: 1 },
  });
  const { id } = (await begun.json()) as { id: string };
  let job: { status: string; data: Page[] };
  do {
    await new Promise((resolve) => setTimeout(resolve, 50));
    job = (await (await gateway.fetch(`/v2/batch/scrape/${id}`)).json()) as typeof job;
  } while (job.status === 'scraping');
  const [page, missing] = job.data;
  assert.deepEqual([page?.summary, page?.metadata.model, missing?.summary], ['One.', 'writer', undefined]);
  assert.match(missing?.warning ?? '', /The page answered 404, so nothing is written about it/);
  assert.equal(asked.length, 1);
});

test('quota that is used up for the model stops a batch, and its page is not paid', async (t) => {
  const plans = { default: { windows: 'off', rpm: 'off' } };
  const tiers = { small: { month: 1 } };
  const models = { writer: { targets: ['up/one'], tier: 'small' } };
  const { site, gateway } = await startWith(t, ['One.', 'Two.', 'Three.'], { plans, tiers, models });
  const urls = [1, 2, 3].map((at) => `${site.url}/shop?${at}`);
  const json = { urls, formats: ['summary'], maxConcurrency: 1 };
  const { id } = (await (await gateway.fetch('/v2/batch/scrape', { json })).json()) as { id: string };
  let job: { status: string; error?: string; completed: number; creditsUsed: number };
  do {
    await new Promise((resolve) => setTimeout(resolve, 50));
    job = (await (await gateway.fetch(`/v2/batch/scrape/${id}`)).json()) as typeof job;
  } while (job.status === 'scraping');
  assert.equal(job.status, 'failed');
  assert.match(job.error ?? '', /^Stopped: .*30-day window/);
  assert.deepEqual([job.completed, job.creditsUsed], [1, 1]);
});

test('Firecrawl’s first API says beside its formats what JSON is wanted, and calls it extract too', async (t) => {
  const { site, gateway } = await startWith(t, [JSON.stringify(kettle), JSON.stringify(kettle)]);
  const url = `${site.url}/shop`;
  const json = await scrape(gateway, { url, formats: ['json'], jsonOptions: { schema: price } }, '/v1');
  assert.deepEqual(json.data.json, kettle);
  const extract = await scrape(gateway, { url, formats: ['extract'], extract: { prompt: 'The price' } }, '/v1');
  assert.deepEqual(extract.data.extract, kettle);
});

test('formats are refused in words', async (t) => {
  const { site, gateway } = await startWith(t, []);
  const cases = [
    [['json'], 400, /json is an object with a prompt, a schema, or both/],
    [[{ type: 'json', schema: 'x' }], 400, /'formats\.json\.schema' must be a JSON Schema/],
    [['attributes'], 400, /'formats\.attributes\.selectors' must be an array of 1 to 50/],
    [
      [{ type: 'attributes', selectors: [{ selector: 'a[', attribute: 'href' }] }],
      400,
      /'a\[' in 'formats' is not a CSS/,
    ],
    [['mp3'], 400, /'formats' must be an array of markdown, .*images.*summary.*json, attributes/],
    [['changeTracking'], 501, /The format 'changeTracking' is not supported/],
    [[{ type: 'branding' }], 501, /The format 'branding' is not supported/],
  ] as const;
  for (const [formats, status, message] of cases) {
    const answer = await scrape(gateway, { url: `${site.url}/shop`, formats });
    assert.equal(answer.status, status, JSON.stringify(answer));
    assert.match(answer.error!, message);
  }
});

test('what is written counts for the key that asked, as the operator sees it', async (t) => {
  const { site, gateway } = await startWith(t, ['Words.']);
  await scrape(gateway, { url: `${site.url}/shop`, formats: ['summary'] });
  const response = await gateway.fetch('/admin/v1/requests?account=dev', {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  const { data } = (await response.json()) as { data: { endpoint: string; model: string | null; key: string }[] };
  assert.deepEqual(data.map(({ endpoint }) => endpoint).toSorted(), ['chat', 'scrape']);
});
