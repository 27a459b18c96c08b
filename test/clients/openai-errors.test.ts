import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { testKey } from '../start-gateway.ts';
import { type ClientWorld, chatPathOf, limitedKey, overBothFormats } from './formats.ts';

const hello = { messages: [{ role: 'user' as const, content: 'Hello' }] };

function clientOf({ baseURL }: ClientWorld, apiKey = testKey): OpenAI {
  return new OpenAI({ baseURL, apiKey, maxRetries: 2 });
}

/** The class that the SDK makes of an answer, and how often it asked for it. */
async function refusal(client: OpenAI, body: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>) {
  let requests = 0;
  const counting = client.withOptions({
    fetch: (input, init) => {
      requests++;
      return fetch(input as string, init as RequestInit);
    },
  });
  const error = await counting.chat.completions.create({ model: 'chat', ...hello, ...body }).then(
    () => assert.fail('was answered'),
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof OpenAI.APIError, String(error));
  return { error, requests };
}

overBothFormats('openai: each refusal is the class that its users catch, tried once', async (world) => {
  const client = clientOf(world);
  const rows = [
    [
      await refusal(clientOf(world, 'sk-cv-nobody-has-this-one'), {}),
      OpenAI.AuthenticationError,
      401,
      'authentication_error',
    ],
    [await refusal(clientOf(world, limitedKey), {}), OpenAI.PermissionDeniedError, 403, 'permission_error'],
    [await refusal(client, { model: 'nothing-like-it' }), OpenAI.NotFoundError, 404, 'not_found_error'],
    [await refusal(client, { max_tokens: 0.5 }), OpenAI.BadRequestError, 400, 'invalid_request_error'],
  ] as const;
  for (const [{ error, requests }, expected, status, type] of rows) {
    assert.ok(error instanceof expected, `${status}: ${error.constructor.name}`);
    assert.equal(error.status, status);
    assert.equal(error.type, type);
    assert.equal(error.code, status);
    assert.match(error.requestID ?? '', /^req_/);
    assert.equal(requests, 1, `${status} is final: x-should-retry: false`);
  }
  assert.equal(rows[3][0].error.param, 'max_tokens');
  assert.match(rows[1][0].error.message, /limited/, 'names what the key may use');
});

overBothFormats('openai: a rate limit with the wait when every target is limited upstream', async (world) => {
  world.upstream.script(chatPathOf(world), ['always status=429;retry-after=40']);
  const { error } = await refusal(clientOf(world).withOptions({ maxRetries: 0 }), {});
  assert.ok(error instanceof OpenAI.RateLimitError);
  assert.equal(error.headers?.get('x-culvert-limited-by'), 'upstream');
  assert.ok(Number(error.headers?.get('retry-after')) >= 39);
});

overBothFormats('openai: 502 is retried, and passes once the upstream is well', async (world) => {
  world.upstream.script(chatPathOf(world), ['status=500']);
  const client = clientOf(world).withOptions({ defaultHeaders: { 'x-culvert-no-fallback': '1' } });
  const answer = await client.chat.completions.create({ model: 'chat', ...hello });
  assert.match(answer.choices[0]?.message.content ?? '', /Mock answer/);
});

overBothFormats('openai: an error in mid-stream throws, with its code', async (world) => {
  world.upstream.script(chatPathOf(world), ['tokens=50;cut=12events']);
  const stream = await clientOf(world).chat.completions.create({ model: 'chat', ...hello, stream: true });
  let text = '';
  await assert.rejects(
    async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    },
    (error) =>
      error instanceof OpenAI.APIError &&
      error.type === 'upstream_error' &&
      Number(error.code) === 502 &&
      // The words by which Continue knows that it may ask again.
      /premature end/.test(error.message),
  );
  assert.notEqual(text, '');
});

overBothFormats('openai: models, listed and one with a slash in its id', async (world) => {
  const client = clientOf(world);
  const ids: string[] = [];
  for await (const model of client.models.list()) ids.push(model.id);
  for (const id of ['chat', 'slow', 'org/chat', 'limited']) assert.ok(ids.includes(id), id);
  const one = await client.models.retrieve('org/chat');
  assert.equal(one.id, 'org/chat');
  assert.equal(one.object, 'model');
  await assert.rejects(client.models.retrieve('org/none'), OpenAI.NotFoundError);
});
