import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { JsonObject } from '../../src/kernel/json.ts';
import { listening } from '../forward-proxy.ts';
import { startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';
import { messageOf, sageMaker, startAws, testAwsKeys } from '../upstream-formats/start-aws.ts';

/* Amazon SageMaker as a provider: endpoints of one's own that speak chat completions behind AWS's wire. */

const aws = { access_key_id: testAwsKeys.accessKeyId, secret_access_key: testAwsKeys.secretAccessKey };
const messages = [{ role: 'user' as const, content: 'Hello there' }];

function gatewayOver(t: TestContext, baseUrl: string): Promise<TestGateway> {
  return startGateway(t, {
    providers: { own: { type: 'sagemaker', base_url: baseUrl, region: 'eu-west-1', aws } },
    models: { m: { targets: ['own/mock-ok'] } },
  });
}

async function open(
  t: TestContext,
  pieceBytes = 7,
): Promise<{ gateway: TestGateway; upstream: Upstream; openai: OpenAI }> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const { url } = await startAws(t, upstream, sageMaker(pieceBytes));
  const gateway = await gatewayOver(t, url);
  await gateway.modelsKnown;
  upstream.clear();
  return { gateway, upstream, openai: new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 }) };
}

for (const pieceBytes of [1, 7, 1_000_000]) {
  test(`a stream in parts of ${pieceBytes} bytes is read as the events that it holds`, async (t) => {
    const { openai, upstream } = await open(t, pieceBytes);
    const content = 'Grüße — 你好 👋';
    const stream = await openai.chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content }],
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    let used = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      used += chunk.usage?.completion_tokens ?? 0;
    }
    assert.ok(text.includes(content), text);
    assert.ok(used > 0);
    const [request] = upstream.requests();
    assert.equal(request!.path, '/endpoints/mock-ok/invocations-response-stream');
    assert.equal((request!.body as JsonObject).model, undefined);
  });
}

test('callers of other formats get a stream and a whole answer too', async (t) => {
  const { gateway, upstream } = await open(t);
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: testKey, maxRetries: 0 });
  const wish = { model: 'm', max_tokens: 64, messages };
  const whole = await anthropic.messages.create(wish);
  assert.ok(whole.content[0]?.type === 'text' && whole.content[0].text.includes('Hello there'));
  const streamed = await anthropic.messages.stream(wish).finalMessage();
  assert.ok(streamed.content[0]?.type === 'text' && streamed.content[0].text.includes('Hello there'));
  assert.ok(upstream.requests().every(({ body }) => (body as JsonObject).model === undefined));
});

test('a whole answer is a call of invocations, in the order of the caller', async (t) => {
  const { gateway, upstream } = await open(t);
  const answer = await gateway.fetch('/v1/chat/completions', { json: { model: 'm', messages, max_tokens: 50 } });
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), /Hello there/);
  // Beside it a worker may look for models.
  const paths = upstream.requests().map(({ path }) => path);
  assert.ok(
    paths.some((path) => /^\/endpoints\/mock-ok\/invocations/.test(path)),
    paths.join('\n'),
  );
});

test('a stream that is cut is no whole answer', async (t) => {
  const { gateway, upstream } = await open(t);
  upstream.script('/endpoints/mock-ok/invocations-response-stream', ['cut=600', 'cut=600', 'cut=600', 'cut=600']);
  const json = { model: 'm', messages, stream: true };
  const text = await (await gateway.fetch('/v1/chat/completions', { json })).text();
  assert.doesNotMatch(text, /\[DONE\]/);
  assert.match(text, /"error"/);
});

/** An endpoint that answers every request so. */
async function answering(t: TestContext, status: number, body: Buffer | string, type = 'application/json') {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { 'content-type': type }).end(body);
  });
  return gatewayOver(t, `http://127.0.0.1:${await listening(t, server)}`);
}

test("an error of the container is told with its own status and words, and without the account's number", async (t) => {
  const own = { object: 'error', message: 'This model has a maximum context length of 4096 tokens.', code: 400 };
  const gateway = await answering(
    t,
    424,
    JSON.stringify({
      ErrorCode: 'CLIENT_ERROR_FROM_MODEL',
      LogStreamArn: 'arn:aws:logs:eu-west-1:123456789012:log-group:/aws/sagemaker/Endpoints/mock-ok',
      Message: 'Received client error (400) from primary and could not load the logs of account 123456789012.',
      OriginalMessage: JSON.stringify(own),
      OriginalStatusCode: 400,
    }),
  );
  const answer = await gateway.fetch('/v1/chat/completions', { json: { model: 'm', messages } });
  const text = await answer.text();
  assert.equal(answer.status, 400, text);
  assert.match(text, /maximum context length of 4096/);
  assert.doesNotMatch(text, /123456789012/);
});

test('an endpoint that is not there, and an exception inside a stream, are the failures that they are', async (t) => {
  const classOf = async (gateway: TestGateway) => {
    const answer = await gateway.fetch('/v1/chat/completions', { json: { model: 'm', messages, stream: true } });
    await answer.text();
    const record = await gateway.fetch(`/v1/requests/${answer.headers.get('x-culvert-request-id')}`);
    return ((await record.json()) as { route: { attempts: { class: string }[] } }).route.attempts[0]!.class;
  };
  const message = 'Endpoint mock-ok of account 123456789012 not found.';
  assert.equal(await classOf(await answering(t, 400, JSON.stringify({ Message: message }))), 'model_unavailable');
  const exception = messageOf(
    { ':exception-type': 'ModelStreamError', ':content-type': 'application/json', ':message-type': 'exception' },
    Buffer.from(
      JSON.stringify({ Message: 'The model container timed out.', ErrorCode: 'ModelInvocationTimeExceeded' }),
    ),
  );
  const type = 'application/vnd.amazon.eventstream';
  assert.equal(await classOf(await answering(t, 200, Buffer.from(exception), type)), 'transient');
});

test('a key is refused: SageMaker knows signatures alone', async (t) => {
  const config = { providers: { own: { type: 'sagemaker', region: 'eu-west-1', api_key: 'k' } } };
  await assert.rejects(startGateway(t, config), /providers\.own\.api_key: type sagemaker takes no key/);
});

test('endpoints in service are discovered by a signed request, and called by their names', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const asked: { target: unknown; body: JsonObject }[] = [];
  const status = { EndpointStatus: 'InService' };
  const behind = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces);
    if (request.url !== '/') {
      const onward = await fetch(upstream.url + request.url, { method: 'POST', body });
      return response.writeHead(onward.status, Object.fromEntries(onward.headers)).end(await onward.text());
    }
    asked.push({ target: request.headers['x-amz-target'], body: JSON.parse(body.toString()) as JsonObject });
    const Endpoints = [
      { EndpointName: 'mock-listed', ...status },
      { EndpointName: 'mock-failed', EndpointStatus: 'Failed' },
      { EndpointName: '../mock', ...status },
    ];
    return response.writeHead(200, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify({ Endpoints }));
  });
  const { url } = await startAws(t, { url: `http://127.0.0.1:${await listening(t, behind)}` }, sageMaker(7));
  const own = { type: 'sagemaker', base_url: url, region: 'eu-west-1', aws };
  const gateway = await startGateway(t, { providers: { own } });
  await gateway.modelsKnown;
  assert.equal(asked[0]!.target, 'SageMaker.ListEndpoints');
  assert.equal(asked[0]!.body.StatusEquals, 'InService');
  const listed = (await (await gateway.fetch('/v1/models')).json()) as { data: { id: string }[] };
  const ids = listed.data.map(({ id }) => id).filter((id) => id.includes('mock'));
  assert.deepEqual(ids, ['own/mock-listed', 'mock-listed']);
  const json = { model: 'own/mock-listed', messages };
  const answer = await gateway.fetch('/v1/chat/completions', { json });
  assert.equal(answer.status, 200, await answer.text());

  const wrong = { ...own, aws: { ...aws, secret_access_key: 'another' } };
  const refused = await startGateway(t, { providers: { own: wrong }, models: { m: { targets: ['own/mock-listed'] } } });
  await refused.modelsKnown;
  const { data } = (await (await refused.fetch('/v1/models')).json()) as typeof listed;
  assert.ok(!data.some(({ id }) => id === 'own/mock-listed'));
});
