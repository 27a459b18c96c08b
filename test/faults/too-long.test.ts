import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { explained } from './read-answer.ts';

/** Tokens of the prompt, and those that the target holds. */
type Wording = (sent: number, most: number) => { status: number; error: object };

/** How vendors say that a prompt does not fit, with or without its size. */
const wordings: Record<string, Wording> = {
  openai: (sent, most) => ({
    status: 400,
    error: {
      message: `This model's maximum context length is ${most} tokens. However, your messages resulted in ${sent} tokens.`,
      type: 'invalid_request_error',
      param: 'messages',
      code: 'context_length_exceeded',
    },
  }),
  anthropic: (sent, most) => ({
    status: 400,
    error: { type: 'invalid_request_error', message: `prompt is too long: ${sent} tokens > ${most} maximum` },
  }),
  google: (_, most) => ({
    status: 400,
    error: { code: 400, message: `The input token count exceeds the maximum number of tokens allowed ${most}.` },
  }),
  mistral: (sent, most) => ({
    status: 400,
    error: { message: `Prompt contains ${sent} tokens, too large for model with ${most} maximum context length` },
  }),
  bedrock: () => ({ status: 400, error: { message: 'Input is too long for requested model.' } }),
  groq: () => ({ status: 413, error: { message: 'Request Entity Too Large', type: 'invalid_request_error' } }),
  'llama.cpp': (sent, most) => ({
    status: 500,
    error: { message: `the request (${sent} tokens) exceeds the available context size (${most} tokens)` },
  }),
  together: () => ({
    status: 422,
    error: { message: 'Input token count + max_tokens must be less than the context length', type: 'invalid' },
  }),
};

interface Place {
  /** Tokens, of four characters. */
  window: number;
  says: Wording;
}

const longTokens = 3_000;
const longText = 'word'.repeat(longTokens);

for (const [vendor, says] of Object.entries(wordings)) {
  test(`F72 too long for the first, in the words of ${vendor}: the next or a fallback answers, and nobody is ill`, async (t) => {
    const { gateway } = await started(t, { small: { window: 1_000, says }, large: { window: 100_000, says } });
    for (const model of ['next', 'fallback']) {
      for (const stream of [false, true]) {
        for (let turn = 0; turn < 3; turn++) {
          const { status, text, response } = await chat(gateway, model, longText, stream);
          assert.equal(status, 200, text);
          assert.equal(response.headers.get('x-culvert-provider'), 'large');
        }
      }
    }
    assert.deepEqual(await illLanes(gateway), []);
  });

  test(`F72 too long everywhere, in the words of ${vendor}: the first answer, once each, for nothing`, async (t) => {
    const { gateway, asked } = await started(t, {
      small: { window: 1_000, says },
      large: { window: 2_000, says: wordings.openai! },
    });
    const { response, status, text } = await chat(gateway, 'next', longText);
    assert.equal(status, vendor === 'groq' ? 413 : 400, text);
    const { error } = JSON.parse(text) as { error: { message: string } };
    assert.ok(error.message.startsWith('small: '), error.message);
    assert.equal(response.headers.get('x-should-retry'), 'false');
    assert.deepEqual(asked.sort(), ['large', 'small']);
    const record = await explained(gateway, response);
    assert.deepEqual([record.units, record.class], [0, 'upstream-refused']);
    assert.deepEqual(
      record.route.attempts.map((attempt) => attempt.class),
      ['too_long', 'too_long'],
    );
    assert.deepEqual(await illLanes(gateway), []);
  });
}

test('F72 clients that compact know it in their own words, whoever refused last', async (t) => {
  const { gateway } = await started(t, {
    small: { window: 1_000, says: wordings.openai! },
    large: { window: 2_000, says: wordings.bedrock! },
  });
  const messages = [{ role: 'user', content: longText }];
  const claude = await gateway.fetch('/v1/messages', { json: { model: 'next', max_tokens: 9, messages } });
  const told = (await claude.json()) as { error: { message: string } };
  assert.deepEqual([claude.status, told.error.message], [400, 'prompt is too long: 3000 tokens > 1000 maximum']);
  const codex = await gateway.fetch('/v1/responses', { json: { model: 'next', input: longText } });
  const { error } = (await codex.json()) as { error: { code: string } };
  assert.deepEqual([codex.status, error.code], [400, 'context_length_exceeded']);
});

test('F72 a target that is known to have no more room is not asked, and more targets than attempts are', async (t) => {
  const says = wordings.bedrock!;
  const places: Record<string, Place> = {};
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) places[name] = { window: 1_000, says };
  places.g = { window: 100_000, says };
  const { gateway, asked } = await started(t, places, {
    many: { targets: 'abcdefg'.split('').map((name, at) => ({ provider: name, model: 'm', priority: at + 1 })) },
    sized: {
      targets: [
        { provider: 'a', model: 'm', priority: 1, context_window: 4_000 },
        { provider: 'b', model: 'm', priority: 2, context_window: 4_000 },
        { provider: 'g', model: 'm', priority: 3, context_window: 8_000 },
      ],
    },
  });
  const many = await chat(gateway, 'many', longText);
  assert.equal(many.status, 200, many.text);
  assert.deepEqual(asked.splice(0), ['a', 'b', 'c', 'd', 'e', 'f', 'g']);
  const sized = await chat(gateway, 'sized', longText);
  assert.equal(sized.status, 200, sized.text);
  assert.deepEqual(asked.splice(0), ['a', 'g']);
  const json = { model: 'many', messages: [{ role: 'user', content: longText }] };
  const alone = await gateway.fetch('/v1/chat/completions', { json, headers: { 'x-culvert-no-fallback': '1' } });
  assert.deepEqual([alone.status, asked.length], [400, 1]);
});

test('F72 the context that a refusal names is learnt: the next prompt of that size goes elsewhere first', async (t) => {
  const says = wordings.openai!;
  const { gateway, asked } = await started(t, { small: { window: 1_000, says }, large: { window: 100_000, says } });
  for (const model of ['next', 'fallback']) assert.equal((await chat(gateway, model, longText)).status, 200);
  assert.deepEqual(asked.splice(0), ['small', 'large', 'large']);
  // What fits goes on to the first.
  assert.equal((await chat(gateway, 'next', 'word'.repeat(100))).status, 200);
  assert.deepEqual(asked.splice(0), ['small']);
});

test('F72 a message whose numbers do not fit the prompt keeps nobody away', async (t) => {
  const wrong: Wording = (_, most) => wordings.openai!(90_000, Math.floor(most / 100));
  const { gateway, asked } = await started(t, {
    small: { window: 1_000, says: wrong },
    large: { window: 100_000, says: wrong },
  });
  assert.equal((await chat(gateway, 'next', longText)).status, 200);
  assert.deepEqual(asked.splice(0), ['small', 'large']);
  assert.equal((await chat(gateway, 'next', 'word'.repeat(900))).status, 200);
  assert.deepEqual(asked.splice(0), ['small']);
});

async function chat(gateway: TestGateway, model: string, content: string, stream = false) {
  const json = { model, stream, messages: [{ role: 'user', content }] };
  const response = await gateway.fetch('/v1/chat/completions', { json });
  return { response, status: response.status, text: await response.text() };
}

/** A provider a place, and two models over `small` and `large`: by priority, and by a fallback. */
async function started(
  t: TestContext,
  places: Readonly<Record<string, Place>>,
  models: Record<string, unknown> = {
    next: {
      targets: [
        { provider: 'small', model: 'm', priority: 1 },
        { provider: 'large', model: 'm', priority: 2 },
      ],
    },
    fallback: { targets: ['small/m'], fallbacks: ['roomy'] },
    roomy: { targets: ['large/m'] },
  },
): Promise<{ gateway: TestGateway; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
    });
    request.on('end', () => {
      const name = request.url!.split('/')[1]!;
      if (request.method !== 'POST') return response.writeHead(404).end();
      asked.push(name);
      const { window, says } = places[name]!;
      const { messages, stream } = JSON.parse(body) as { messages: { content: string }[]; stream?: boolean };
      const sent = messages.reduce((sum, { content }) => sum + content.length / 4, 0);
      if (sent > window) {
        const { status, error } = says(sent, window);
        return response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
      }
      answer(response, stream === true);
    });
  });
  const url = await listening(t, server);
  const providers = Object.fromEntries(
    Object.keys(places).map((name) => [name, { type: 'openai', base_url: `${url}/${name}`, api_key: 'k' }]),
  );
  // What a refusal tells of a context, each process learns (docs/scale-out.md).
  return { gateway: await startGateway(t, { providers, models, server: { processes: 1 } }), asked };
}

function answer(response: import('node:http').ServerResponse, streamed: boolean): void {
  const head = { id: 'c', created: 1, model: 'm' };
  if (!streamed) {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }];
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ ...head, object: 'chat.completion', choices }));
    return;
  }
  const chunk = (delta: object, reason: string | null) =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
  response
    .writeHead(200, { 'content-type': 'text/event-stream' })
    .end(`${chunk({ role: 'assistant', content: 'Hello.' }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`);
}

/** Lanes that are not ready, or that a failure was counted against. */
async function illLanes(gateway: TestGateway): Promise<unknown[]> {
  const response = await gateway.fetch('/admin/v1/providers?limit=100', {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  const { data } = (await response.json()) as {
    data: { credentials: { lanes: { state: string; failed: number }[] }[] }[];
  };
  return data
    .flatMap(({ credentials }) => credentials.flatMap(({ lanes }) => lanes))
    .filter(({ state, failed }) => state !== 'ready' || failed > 0);
}
