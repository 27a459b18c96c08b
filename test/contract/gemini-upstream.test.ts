import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import OpenAI from 'openai';
import { cert, key, trustLoopbackCertificate } from '../loopback-certificate.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';

/* Chat completions over a provider that speaks Gemini's format (issue 4), by OpenAI's own SDK. */

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
trustLoopbackCertificate();
const hanging = new EventEmitter();
const pictures = createServer({ key, cert }, (request, response) => {
  if (request.url === '/a.png') response.writeHead(200, { 'content-type': 'text/plain' }).end(png);
  else if (request.url === '/page') response.writeHead(200, { 'content-type': 'image/png' }).end('<html>');
  else if (request.url === '/away') response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
  else if (request.url === '/hangs') hanging.emit('asked', response);
  else response.writeHead(404).end();
}).listen(0, '127.0.0.1');
await once(pictures, 'listening');
const place = `127.0.0.1:${(pictures.address() as AddressInfo).port}`;
const upstream = await startUpstream({ models: ['gemini-3-pro', 'gemini-2.5-flash'] });
const spare = await startUpstream();
after(async () => {
  pictures.closeAllConnections();
  pictures.close();
  await Promise.all([upstream.close(), spare.close()]);
});
const config = {
  // This process alone trusts the certificate of the pictures' server.
  server: { processes: 1 },
  providers: {
    google: { type: 'gemini', base_url: upstream.url, api_key: 'google-secret' },
    openai: { type: 'openai', base_url: `${spare.url}/v1`, api_key: 'openai-secret' },
  },
  models: {
    flash: { targets: ['google/gemini-2.5-flash'] },
    pro: { targets: ['google/gemini-3-pro'] },
    whole: { targets: [{ provider: 'google', model: 'gemini-2.5-flash', stream: false }] },
    either: {
      targets: ['google/gemini-2.5-flash', { provider: 'openai', model: 'mock/ok', priority: 2 }],
    },
    tuned: {
      targets: [
        {
          provider: 'google',
          model: 'gemini-2.5-flash',
          body: { generationConfig: { topP: 0.25 }, safetySettings: [] },
        },
      ],
    },
    'mock/*': { targets: ['google/mock/*'] },
  },
  fetch: { allow_private: [place] },
};
const gateway = await startGateway({ after: (fn) => after(fn as () => void) }, config);
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
const user = (content: OpenAI.ChatCompletionUserMessageParam['content']) => ({ role: 'user' as const, content });

interface Sent {
  contents: { parts: { thoughtSignature?: string; inlineData?: object }[] }[];
  generationConfig?: { seed?: number };
  safetySettings?: object[];
  tools?: [{ functionDeclarations: { parametersJsonSchema?: object }[] }];
}
/** The parts of one turn of the last request. */
const sentParts = (turn: number) => lastBody().contents[turn]?.parts ?? [];
const lastBody = () => upstream.requests().at(-1)!.body as unknown as Sent;
const asked = ({ requests }: Upstream) => requests().filter(({ method }) => method === 'POST').length;

test('a whole answer, its thoughts and usage; the key and the model go as Google wants them', async () => {
  const answer = await client.chat.completions.create({
    model: 'flash',
    messages: [{ role: 'system', content: 'Be brief.' }, user('hello there')],
    reasoning_effort: 'low',
    max_completion_tokens: 500,
  });
  const [choice] = answer.choices;
  assert.match(choice!.message.content ?? '', /hello there/);
  assert.ok((choice!.message as { reasoning_content?: string }).reasoning_content);
  assert.equal(choice!.finish_reason, 'stop');
  assert.equal(answer.usage!.total_tokens, answer.usage!.prompt_tokens + answer.usage!.completion_tokens);
  assert.ok(answer.usage!.completion_tokens_details!.reasoning_tokens! > 0);
  const sent = upstream.requests().at(-1)!;
  assert.equal(sent.path, '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse');
  assert.equal(sent.headers['x-goog-api-key'], 'google-secret');
  assert.equal(sent.headers.authorization, undefined);
  assert.deepEqual(lastBody(), {
    contents: [{ role: 'user', parts: [{ text: 'hello there' }] }],
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    generationConfig: { maxOutputTokens: 500, thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 } },
  });
});

test('a stream, and the same from a target that is asked whole', async () => {
  for (const model of ['flash', 'whole']) {
    const stream = client.chat.completions.stream({ model, messages: [user('count to three')] });
    const final = await stream.finalChatCompletion();
    assert.match(final.choices[0]!.message.content ?? '', /count to three/);
    assert.equal(final.choices[0]!.finish_reason, 'stop');
  }
  assert.equal(upstream.requests().at(-1)!.path, '/v1beta/models/gemini-2.5-flash:generateContent');
});

const tools: OpenAI.ChatCompletionTool[] = ['get_weather', 'get_time', '7days'].map((name) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
}));

for (const form of ['whole', 'streamed'] as const) {
  test(`AC-06 AC-16 parallel calls and their signature go round, ${form}`, async () => {
    const question = user('call get_weather and call get_time and call cv__7days');
    const request = { model: 'pro', messages: [question], tools };
    const first =
      form === 'whole'
        ? await client.chat.completions.create(request)
        : await client.chat.completions.stream(request).finalChatCompletion();
    const { message, finish_reason } = first.choices[0]!;
    assert.equal(finish_reason, 'tool_calls');
    const calls = message.tool_calls!;
    const names = calls.map((call) => (call.type === 'function' ? call.function.name : ''));
    assert.deepEqual(names, ['get_weather', 'get_time', '7days']);
    for (const call of calls)
      assert.equal(call.type === 'function' && typeof JSON.parse(call.function.arguments), 'object');
    const results = calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: '21' })).reverse();
    // The message as the SDK gave it, as its users send it back. The upstream refuses a turn without its signature.
    const messages = [question, message, ...results];
    const second = await client.chat.completions.create({ model: 'pro', messages, tools });
    assert.ok(second.choices[0]!.message.content);
    const [call] = sentParts(1);
    assert.equal(
      call?.thoughtSignature,
      form === 'whole' || 'extra_content' in calls[0]! ? 'c2ltdWxhdGVk' : 'skip_thought_signature_validator',
    );
    // A client that keeps only known members loses the signature, and nothing else.
    const bare = calls.map(({ id, type, ...rest }) => ({
      id,
      type,
      function: (rest as { function: object }).function,
    }));
    const third = await client.chat.completions.create({
      model: 'pro',
      messages: [question, { role: 'assistant', tool_calls: bare } as OpenAI.ChatCompletionMessageParam, ...results],
      tools,
    });
    assert.ok(third.choices[0]!.message.content);
    assert.equal(sentParts(1)[0]?.thoughtSignature, 'skip_thought_signature_validator');
  });
}

test('structured output keeps to its schema', async () => {
  const schema = {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  };
  const answer = await client.chat.completions.create({
    model: 'flash',
    messages: [user('Where?')],
    response_format: { type: 'json_schema', json_schema: { name: 'place', strict: true, schema } },
  });
  assert.equal(typeof JSON.parse(answer.choices[0]!.message.content!).city, 'string');
  assert.deepEqual(lastBody().generationConfig, { responseMimeType: 'application/json', responseJsonSchema: schema });
});

test('a tool that takes nothing has no schema, which Google would refuse, and every other has its whole one', async () => {
  const inert = { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'Now', description: 'The time.' };
  const city = { type: 'string' };
  const shapes: [object | undefined, object?][] = [
    [undefined],
    [{}],
    [{ type: 'object' }],
    [{ type: 'object', properties: {}, required: [], additionalProperties: false, ...inert }],
    ...[
      { type: 'object', additionalProperties: true },
      { type: 'object', properties: {}, anyOf: [{ properties: { city } }] },
      { type: 'object', $ref: '#/$defs/place', $defs: { place: { properties: { city } } } },
      { type: 'object', properties: { city }, additionalProperties: false, ...inert },
    ].map((schema): [object, object] => [schema, schema]),
    [{ properties: { city } }, { type: 'object', properties: { city } }],
  ];
  await client.chat.completions.create({
    model: 'flash',
    messages: [user('hi')],
    tools: shapes.map(([parameters], at) => ({
      type: 'function',
      function: { name: `f${at}`, ...(parameters !== undefined && { parameters: parameters as never }) },
    })),
  });
  const [{ functionDeclarations }] = lastBody().tools!;
  assert.deepEqual(
    functionDeclarations.map(({ parametersJsonSchema: schema }) => schema),
    shapes.map(([, schema]) => schema),
  );
});

test('several choices are asked one by one', async () => {
  const answer = await client.chat.completions.create({ model: 'flash', messages: [user('hi')], n: 3, seed: 5 });
  assert.equal(answer.choices.length, 3);
  const seeds = upstream
    .requests()
    .slice(-3)
    .map(({ body }) => (body as unknown as Sent).generationConfig?.seed);
  assert.deepEqual(seeds.sort(), [5, 6, 7]);
});

test('what the operator writes for a target joins what the caller asks', async () => {
  await client.chat.completions.create({ model: 'tuned', messages: [user('hi')], temperature: 0.5 });
  const { generationConfig, safetySettings } = lastBody();
  assert.deepEqual(
    { generationConfig, safetySettings },
    { generationConfig: { temperature: 0.5, topP: 0.25 }, safetySettings: [] },
  );
});

test("the body of a target also joins a request in Google's own format", async () => {
  const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
  const json = { contents, generationConfig: { temperature: 0.5, topP: 0.75 }, labels: { team: 'a' } };
  const answer = await gateway.fetch('/v1beta/models/tuned:generateContent', { json });
  assert.equal(answer.status, 200, await answer.text());
  assert.deepEqual(lastBody(), {
    ...json,
    generationConfig: { temperature: 0.5, topP: 0.25 },
    safetySettings: [],
  });
});

const pictureAt = (url: string) =>
  user([
    { type: 'text', text: 'What is it?' },
    { type: 'image_url', image_url: { url } },
  ]);

test('a picture by URL is fetched and goes inline, once for several choices', async () => {
  const answer = await client.chat.completions.create({
    model: 'flash',
    messages: [pictureAt(`https://${place}/a.png`)],
    n: 2,
  });
  assert.equal(answer.choices.length, 2);
  // Its server calls it text, but its bytes tell the type.
  assert.deepEqual(sentParts(0)[1], {
    inlineData: { mimeType: 'image/png', data: png.toString('base64') },
  });
});

for (const n of [1, 2])
  test(`who leaves while a picture is fetched ends that, with ${n} asked for`, { timeout: 10_000 }, async () => {
    const leaving = new AbortController();
    const asking = client.chat.completions.create(
      { model: 'flash', messages: [pictureAt(`https://${place}/hangs`)], n },
      { signal: leaving.signal },
    );
    const [response] = (await once(hanging, 'asked')) as [ServerResponse];
    leaving.abort();
    await assert.rejects(asking);
    await once(response, 'close');
  });

test('S17 a picture that cannot or may not be fetched is 400 naming its part, and nothing is sent', async () => {
  upstream.clear();
  for (const [url, why] of [
    [`https://${place}/missing`, 'answered 404'],
    [`https://${place}/page`, 'not a picture'],
    [`https://${place}/away`, 'not on the public Internet'],
    ['https://169.254.169.254/latest/meta-data/', 'not on the public Internet'],
    ['https://[::ffff:127.0.0.1]/', 'not on the public Internet'],
    [`https://localhost:${place.split(':')[1]}/a.png`, 'port'],
    ['https://localhost/a.png', 'not on the public Internet'],
  ] as const) {
    for (const stream of [false, true]) {
      const response = await gateway.fetch('/v1/chat/completions', {
        json: { model: 'flash', stream, messages: [pictureAt(url)] },
      });
      const { error } = (await response.json()) as { error: { param: string; message: string } };
      assert.equal(response.status, 400, url);
      assert.equal(error.param, 'messages[0].content[1]');
      assert.ok(error.message.includes(why), `${url}: ${error.message}`);
    }
  }
  assert.equal(asked(upstream), 0);
});

test('a picture that Google cannot be given is given to a provider that fetches it itself', async () => {
  spare.clear();
  const answer = await client.chat.completions.create({
    model: 'either',
    messages: [pictureAt('https://10.0.0.1/private.png')],
  });
  assert.ok(answer.choices[0]!.message.content);
  assert.equal(asked(spare), 1);
});

test('a body above 1 MB is converted in the worker, with what was fetched', async () => {
  const long = 'x'.repeat(1_100_000);
  const answer = await client.chat.completions.create({
    model: 'flash',
    messages: [user(long), { role: 'assistant', content: 'ok' }, pictureAt(`https://${place}/a.png`)],
  });
  assert.ok(answer.choices[0]!.message.content);
});

test('failures: what is the caller’s comes back, what is Google’s goes to the next provider', async (t) => {
  const path = '/v1beta/models/gemini-2.5-flash:streamGenerateContent';
  upstream.script(path, ['status=400;message=Bad value at contents']);
  await assert.rejects(
    client.chat.completions.create({ model: 'flash', messages: [user('hi')] }),
    (error: { status?: number; message?: string }) => {
      assert.equal(error.status, 400);
      assert.match(error.message ?? '', /google: .*Bad value at contents/);
      return true;
    },
  );
  for (const spec of ['status=503', 'status=429', 'status=401', 'error=0;code=UNAVAILABLE']) {
    upstream.script(path, [spec]);
    spare.clear();
    // A gateway of its own, since a refused key shuts the provider for minutes.
    const fresh = await startGateway(t, config);
    const answer = await fresh.fetch('/v1/chat/completions', { json: { model: 'either', messages: [user('hi')] } });
    assert.equal(answer.status, 200, spec);
    assert.equal(answer.headers.get('x-culvert-provider'), 'openai', spec);
    assert.equal(asked(spare), 1, spec);
  }
});

test('a stream that is cut after its first words ends in an error, not in [DONE]', async () => {
  for (const fault of ['eof', 'cut=300', 'error=2']) {
    const response = await gateway.fetch('/v1/chat/completions', {
      json: { model: `mock/${fault}`, stream: true, messages: [user('a few words to say again and again')] },
    });
    const text = await response.text();
    assert.ok(!text.includes('[DONE]'), fault);
    assert.match(text, /"error":\{/, fault);
  }
});

test('a withheld answer, a broken call of a tool among them, says so and is no empty success', async () => {
  for (const reason of ['SAFETY', 'MALFORMED_FUNCTION_CALL']) {
    const answer = await client.chat.completions.create({
      model: `mock/finish=${reason};text=`,
      messages: [user('hi')],
    });
    assert.equal(answer.choices[0]!.finish_reason, 'content_filter');
    assert.match(answer.choices[0]!.message.refusal ?? '', /withheld/);
  }
});
