import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, describe, type TestContext, test } from 'node:test';
import { APIError } from 'openai';
import { listening } from '../listening.ts';
import { startGateway, type TestGateway } from '../start-gateway.ts';
import { credentialOf, type EveryType, openEveryType, type Way, ways } from './every-type.ts';

/* Every type's handling of the faults that all services have, and then of those with words of their own. */

const whole = { after: after as TestContext['after'] };
const calm = await openEveryType(whole);
const limited = await openEveryType(whole);
const refused = await openEveryType(whole);
const messages = [{ role: 'user' as const, content: 'Hello there' }];

/** The next conversation by this provider fails as `spec` says. */
async function failing(
  { upstream, openai }: EveryType,
  { alias: model, pathOf }: Way,
  spec: string,
): Promise<APIError> {
  upstream.script(pathOf('whole').split('?')[0]!, [spec]);
  const error = await openai.chat.completions.create({ model, messages }).then(
    () => assert.fail('it was answered'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof APIError, String(error));
  return error;
}

async function classOf({ fetch }: TestGateway, requestId: string | null | undefined): Promise<string> {
  const record = (await (await fetch(`/v1/requests/${requestId}`)).json()) as {
    route: { attempts: { class: string }[] };
  };
  return record.route.attempts[0]!.class;
}

for (const way of ways) {
  describe(way.title, () => {
    test('a prompt that does not fit is the caller’s fault, by OpenAI’s code', async () => {
      const tooLong = 'status=400;message=prompt is too long: 9000 tokens > 8192 maximum;code=context_length_exceeded';
      const error = await failing(calm, way, tooLong);
      assert.deepEqual([error.status, error.code], [400, 'context_length_exceeded'], error.message);
    });

    test('an overload is transient, so it is tried again', async () => {
      calm.upstream.script(way.pathOf('whole').split('?')[0]!, ['status=503']);
      const { response } = await calm.openai.chat.completions.create({ model: way.alias, messages }).withResponse();
      assert.equal(response.headers.get('x-culvert-attempts'), '2');
      assert.equal(await classOf(calm.gateway, response.headers.get('x-culvert-request-id')), 'transient');
    });

    test('a limit cools the credential for as long as it says', async () => {
      const error = await failing(limited, way, 'status=429;retry-after=17');
      assert.equal(error.status, 429);
      assert.ok(Math.abs(Number(error.headers?.get('retry-after')) - 17) <= 2, error.message);
      assert.equal(await classOf(limited.gateway, error.requestID), 'rate_limited');
    });

    test('a wrong key is told as such, without the key', async () => {
      const error = await failing(refused, way, 'status=401;echo-auth');
      assert.equal(await classOf(refused.gateway, error.requestID), 'bad_credential');
      const secret = credentialOf(way.provider)?.[1].split(' ').at(-1);
      assert.ok(secret === undefined || !error.message.includes(secret), error.message);
    });
  });
}

interface OwnFault {
  type: string;
  status: number;
  body: unknown;
  headers?: Record<string, string>;
  class: string;
  /** Seconds that callers are asked to wait. */
  waitS?: number;
  /** `caller_fault`: the code that callers get. */
  code?: string;
}

const openAiError = (message: string, code: string | null = null) => ({ error: { message, type: 'error', code } });

/** As the documentation of each writes them; the shapes are made by hand from it. */
const ownFaults: readonly OwnFault[] = [
  { type: 'groq', status: 498, body: openAiError('Flex tier capacity exceeded'), class: 'rate_limited' },
  {
    type: 'mistral',
    status: 429,
    body: { object: 'error', message: 'Service tier capacity exceeded for this model.' },
    class: 'transient',
  },
  { type: 'deepseek', status: 402, body: openAiError('Insufficient Balance'), class: 'quota_exhausted' },
  { type: 'deepseek', status: 400, body: openAiError('Model Not Exist'), class: 'model_unavailable' },
  { type: 'xai', status: 400, body: { error: 'Incorrect API key provided: x' }, class: 'bad_credential' },
  { type: 'openrouter', status: 404, body: openAiError('No endpoints found for x.'), class: 'model_unavailable' },
  { type: 'fireworks', status: 412, body: openAiError('Account is suspended'), class: 'quota_exhausted' },
  {
    type: 'zai',
    status: 429,
    body: { error: { code: '1113', message: 'Nothing is left of your balance. Please recharge.' } },
    class: 'quota_exhausted',
  },
  {
    type: 'zai',
    status: 429,
    body: { error: { code: '1302', message: 'High concurrency usage of this API, please reduce concurrency.' } },
    class: 'rate_limited',
  },
  {
    type: 'zai',
    status: 429,
    body: { error: { code: '1112', message: 'Your account has been locked. Please contact customer service.' } },
    class: 'bad_credential',
  },
  {
    type: 'zai',
    status: 400,
    body: { error: { code: '1211', message: 'Unknown Model, please check the model code.' } },
    class: 'model_unavailable',
  },
  {
    type: 'dashscope',
    status: 400,
    body: { error: { code: 'Arrearage', type: 'Arrearage', message: 'Access denied, check your account.' } },
    class: 'quota_exhausted',
  },
  {
    type: 'dashscope',
    status: 429,
    body: openAiError('You exceeded your current quota, please check your plan', 'limit_requests'),
    class: 'rate_limited',
  },
  {
    type: 'dashscope',
    status: 400,
    body: openAiError('Range of input length should be [1, 6000]', 'invalid_parameter_error'),
    class: 'too_long',
    code: 'context_length_exceeded',
  },
  {
    type: 'novita',
    status: 403,
    body: { code: 403, reason: 'model_access_denied', message: 'model_access_denied: closed to this key' },
    class: 'model_unavailable',
  },
  { type: 'scaleway', status: 422, body: { error: 'Model Not Found' }, class: 'model_unavailable' },
  {
    type: 'cerebras',
    status: 429,
    body: { message: 'Rate limit exceeded', type: 'too_many_requests_error', code: 'request_quota_exceeded' },
    headers: { 'x-ratelimit-reset-tokens-minute': '41.4', 'x-ratelimit-remaining-tokens-minute': '0' },
    class: 'rate_limited',
    waitS: 42,
  },
  {
    type: 'sambanova',
    status: 429,
    body: openAiError('Rate limit exceeded', 'rate_limit_exceeded'),
    headers: { 'x-ratelimit-reset-requests-day': '90', 'x-ratelimit-remaining-requests-day': '0' },
    class: 'rate_limited',
    waitS: 90,
  },
];

for (const fault of ownFaults) {
  const { type, status, body } = fault;
  test(`${type}: ${status} ${JSON.stringify(body)} is ${fault.class}`, async (t) => {
    const server = createServer((request, response) => {
      const answer = request.method === 'GET' ? { object: 'list', data: [] } : body;
      response.writeHead(request.method === 'GET' ? 200 : status, {
        'content-type': 'application/json',
        ...fault.headers,
      });
      response.end(JSON.stringify(answer));
    });
    const url = await listening(t, server);
    const gateway = await startGateway(t, {
      providers: {
        up: { type, base_url: `${url}/v1`, api_key: 'k' },
      },
      models: { m: { targets: ['up/mock-ok'] } },
    });
    const answer = await gateway.fetch('/v1/chat/completions', { json: { model: 'm', messages } });
    const { error } = (await answer.json()) as { error: { code: string | number; message: string } };
    assert.equal(await classOf(gateway, answer.headers.get('x-culvert-request-id')), fault.class, error.message);
    if (fault.code !== undefined) assert.deepEqual([answer.status, error.code], [400, fault.code]);
    if (fault.waitS !== undefined)
      assert.ok(Math.abs(Number(answer.headers.get('retry-after')) - fault.waitS) <= 2, error.message);
  });
}
