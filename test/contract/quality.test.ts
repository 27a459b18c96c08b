import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

/* A cheap model answers, and a dearer one where a check of its answer fails. */

interface Said {
  content?: string | null;
  refusal?: string;
  tool_calls?: object[];
  finish?: string;
  status?: number;
}

/** What each model says next. */
let says: Record<string, Said> = {};
let asked: string[] = [];
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    if (request.method !== 'POST') return response.writeHead(404).end();
    const { model, stream } = JSON.parse(Buffer.concat(chunks).toString()) as { model: string; stream?: boolean };
    asked.push(model);
    const { finish = 'stop', status = 200, ...message } = says[model]!;
    if (status !== 200) return response.writeHead(status).end('{"error":{"message":"no"}}');
    const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
    const head = { id: 'c', created: 1, model };
    if (!stream) {
      const choices = [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: finish }];
      response.setHeader('content-type', 'application/json');
      return response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }));
    }
    response.setHeader('content-type', 'text/event-stream');
    const choice = (delta: object, finish_reason: string | null) => ({ index: 0, delta, finish_reason });
    for (const choices of [[choice({ role: 'assistant', ...message }, null)], [choice({}, finish)], []])
      response.write(
        `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, usage: choices.length === 0 ? usage : null })}\n\n`,
      );
    return response.end('data: [DONE]\n\n');
  });
});
const base = await listening({ after }, server);

const targets = [
  { provider: 'up', model: 'cheap', priority: 1, price: { input: 1, output: 1 } },
  { provider: 'up', model: 'dear', priority: 2, price: { input: 10, output: 10 } },
];
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: { up: { type: 'openai', base_url: `${base}/v1`, api_key: 'k' } },
    models: {
      ladder: { targets, quality: { min_chars: 5 } },
      'length-only': { targets, quality: { checks: ['length'] } },
      plain: { targets },
    },
  },
);

interface Answered {
  model: string | null;
  attempts: string | null;
  usd: string | null;
  content: string | null;
  classes: string[];
  costUsd: number | null;
}

async function ask(said: Record<string, Said>, body: Record<string, unknown> = {}): Promise<Answered> {
  says = said;
  asked = [];
  const messages = [{ role: 'user', content: 'Hello' }];
  const answer = await gateway.fetch('/v1/chat/completions', { json: { model: 'ladder', messages, ...body } });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  const id = answer.headers.get('x-culvert-request-id');
  const record = (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as {
    route: { attempts: { class: string }[] };
    cost_usd: number | null;
  };
  return {
    model: answer.headers.get('x-culvert-model'),
    attempts: answer.headers.get('x-culvert-attempts'),
    usd: answer.headers.get('x-culvert-cost-usd'),
    content: body.stream === true ? streamed(text) : JSON.parse(text).choices[0].message.content,
    classes: record.route.attempts.map((attempt) => attempt.class),
    costUsd: record.cost_usd,
  };
}

function streamed(text: string): string {
  const events = text.split('\n\n').filter((event) => event.startsWith('data: {'));
  return events.map((event) => JSON.parse(event.slice(6)).choices[0]?.delta.content ?? '').join('');
}

const good = { content: 'A good answer.' };
const better = { content: 'A better answer.' };

for (const stream of [false, true])
  test(`an answer that passes is given, and nobody else is asked (stream: ${stream})`, async () => {
    const { model, content, classes } = await ask({ cheap: good, dear: better }, { stream });
    assert.deepEqual([model, content, classes, asked], ['cheap', 'A good answer.', ['ok'], ['cheap']]);
  });

const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'], additionalProperties: false };
const wantsJson = { response_format: { type: 'json_schema', json_schema: { name: 'n', schema } } };
const wanting: [string, Said, Record<string, unknown>][] = [
  ['a refusal', { content: null, refusal: 'I cannot.' }, {}],
  ['a filtered answer', { content: 'Half an answer', finish: 'content_filter' }, {}],
  ['a cut answer', { content: 'A long answ', finish: 'length' }, {}],
  ['a short answer', { content: 'No.' }, {}],
  ['text instead of JSON', { content: 'n is 3, I think' }, wantsJson],
  ['JSON that does not meet the schema', { content: '{"n":"three"}' }, wantsJson],
];
for (const [what, said, body] of wanting)
  for (const stream of [false, true])
    test(`${what} makes the next target answer, and none of it is seen (stream: ${stream})`, async () => {
      const dear = body === wantsJson ? { content: '{"n":3}' } : better;
      const answered = await ask({ cheap: said, dear }, { ...body, stream });
      assert.deepEqual([answered.model, answered.content, answered.attempts], ['dear', dear.content, '2']);
      assert.deepEqual(answered.classes, ['low_quality', 'ok']);
      assert.equal(answered.costUsd, 0.00121, 'both are paid');
      if (!stream) assert.equal(answered.usd, '0.00121');
    });

test('an answer as long as its caller allows, and one that calls a tool, pass', async () => {
  const cut = await ask({ cheap: { content: 'Ten tokens', finish: 'length' }, dear: better }, { max_tokens: 10 });
  assert.equal(cut.model, 'cheap');
  const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
  const called = await ask({ cheap: { tool_calls: [call], finish: 'tool_calls' }, dear: better }, { tools });
  assert.equal(called.model, 'cheap');
});

for (const stream of [false, true])
  test(`where no target answers better, the answer that was held back is the caller's (stream: ${stream})`, async () => {
    const answered = await ask({ cheap: { content: 'No.' }, dear: { status: 500 } }, { stream });
    assert.deepEqual([answered.model, answered.content, answered.attempts], ['cheap', 'No.', '2']);
    assert.deepEqual(asked, ['cheap', 'dear']);
    assert.equal(answered.costUsd, 0.00011);
    if (!stream) assert.equal(answered.usd, '0.00011');
    const last = await ask({ cheap: { content: 'No.' }, dear: { content: 'Nor.' } }, { stream });
    assert.deepEqual([last.model, last.content, last.costUsd], ['dear', 'Nor.', 0.00121]);
  });

test('checks that are not wanted are not made, and models without any answer as before', async () => {
  const short = { cheap: { content: 'No.' }, dear: better };
  assert.equal((await ask(short, { model: 'length-only' })).model, 'cheap');
  assert.equal((await ask(short, { model: 'plain' })).model, 'cheap');
});

test('a schema that takes for ever to check costs its caller two seconds, and nobody else anything', async () => {
  const twice = { anyOf: [{ properties: { x: { $ref: '#/$defs/a' } } }, { properties: { x: { $ref: '#/$defs/a' } } }] };
  const endless = { $ref: '#/$defs/a', $defs: { a: { allOf: [twice, { not: { required: ['y'] } }] } } };
  const deep = `${'{"x":'.repeat(40)}{"y":1}${'}'.repeat(40)}`;
  const wants = { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: endless } } };
  const [slow, other] = await Promise.all([
    ask({ cheap: { content: deep }, dear: better }, wants),
    gateway.fetch('/v1/models').then((answer) => answer.status),
  ]);
  assert.deepEqual([slow.model, other], ['cheap', 200]);
});

test('an answer whose thoughts are too long to be held back reaches its caller while it goes on', async (t) => {
  const { promise: heard, resolve: hears } = Promise.withResolvers<void>();
  const thinking = createServer(async (_request, response) => {
    const chunk = (delta: object, finish_reason: string | null = null) => {
      const frame = {
        id: 'c',
        object: 'chat.completion.chunk',
        created: 1,
        choices: [{ index: 0, delta, finish_reason }],
      };
      response.write(`data: ${JSON.stringify(frame)}\n\n`);
    };
    response.setHeader('content-type', 'text/event-stream');
    for (let n = 0; n < 5; n += 1) chunk({ reasoning_content: 'x'.repeat(1024 * 1024) });
    await heard;
    chunk({ content: 'A whole answer.' });
    chunk({}, 'stop');
    response.end('data: [DONE]\n\n');
  });
  const own = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${await listening(t, thinking)}/v1`, api_key: 'k' } },
    models: { thinks: { targets: ['up/deepseek-r1'], quality: { min_chars: 5 } } },
  });
  const json = { model: 'thinks', stream: true, messages: [{ role: 'user', content: 'Hi' }] };
  const answer = await own.fetch('/v1/chat/completions', { json });
  const pieces: Buffer[] = [];
  for await (const piece of answer.body!) {
    pieces.push(Buffer.from(piece));
    // Not a comment that keeps the connection.
    if (pieces.at(-1)!.includes('xxxx')) hears();
  }
  assert.match(Buffer.concat(pieces).toString(), /A whole answer\./);
});
