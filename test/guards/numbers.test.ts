import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';

/* Numbers that JSON has without quotes. */

const card = '4111111111111111';
/** More digits than a double holds: whole answers of Messages and Gemini, whose arguments are objects, round it. */
const longCard = '6304000000000000018';
const otherCard = '5500005555555559';

/** Gives the words that it got back, in the arguments of a tool and in text. */
const bodies: string[] = [];
const upstream = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  if (request.method === 'POST') bodies.push(body);
  const words = [...new Set(body.match(/<CARD_\d+>/g))];
  const args = JSON.stringify({ cards: words, text: `pay ${words[0]}`, n: 1 });
  const call = (json: string) => ({ index: 0, id: 't', type: 'function', function: { name: 'f', arguments: json } });
  const head = { id: 'c', created: 1, model: 'm' };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  if (!/"stream": ?true/.test(body)) {
    const message = { role: 'assistant', content: `Got ${words[0]}.`, tool_calls: [call(args)] };
    response.setHeader('content-type', 'application/json');
    const choices = [{ index: 0, message, finish_reason: 'tool_calls' }];
    response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }));
    return;
  }
  response.setHeader('content-type', 'text/event-stream');
  const send = (delta: object, finish_reason: string | null = null) => {
    const choices = [{ index: 0, delta, finish_reason }];
    response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices })}\n\n`);
  };
  send({ content: `Got ${words[0]}.` });
  send({ tool_calls: [call('')] });
  for (let at = 0; at < args.length; at += 5) {
    send({ tool_calls: [{ index: 0, function: { arguments: args.slice(at, at + 5) } }] });
  }
  send({}, 'tool_calls');
  response.end('data: [DONE]\n\n');
});
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
after(() => upstream.close());
const { port } = upstream.address() as AddressInfo;

const cards = { check: 'personal-data', kinds: ['card'] };
const targets = [{ provider: 'openai', model: 'm' }];
const gateway = await startGateway({ after } as TestContext, {
  providers: { openai: { type: 'openai', base_url: `http://127.0.0.1:${port}/v1`, api_key: 'k' } },
  guards: {
    masks: { ...cards, action: 'mask' },
    again: { ...cards, action: 'mask' },
    blocks: { ...cards, action: 'block' },
  },
  models: {
    masks: { targets, guards: ['masks'] },
    twice: { targets, guards: ['masks', 'again'] },
    blocks: { targets, guards: ['blocks'] },
  },
});

/** Bodies as texts: JavaScript cannot say all digits of the long card. `args`: JSON of the arguments. */
const formats: Record<
  string,
  { path(model: string, stream: boolean): string; body(args: string, head: string): string }
> = {
  chat: {
    path: () => '/v1/chat/completions',
    body: (args, head) =>
      `{${head},"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"t","type":"function","function":{"name":"f","arguments":${JSON.stringify(args)}}}]},{"role":"tool","tool_call_id":"t","content":"done"}]}`,
  },
  messages: {
    path: () => '/v1/messages',
    body: (args, head) =>
      `{${head},"max_tokens":100,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":${args}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"done"}]}]}`,
  },
  responses: {
    path: () => '/v1/responses',
    body: (args, head) =>
      `{${head},"input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"t","name":"f","arguments":${JSON.stringify(args)}},{"type":"function_call_output","call_id":"t","output":"done"}]}`,
  },
  gemini: {
    path: (model, stream) => `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: (args) =>
      `{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":${args}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"result":"done"}}}]}]}`,
  },
};

async function ask(format: string, model: string, stream: boolean, args: string) {
  bodies.length = 0;
  const { path, body } = formats[format] as (typeof formats)[string];
  const response = await gateway.fetch(path(model, stream), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: body(args, `"model":"${model}","stream":${stream}`),
  });
  return { status: response.status, text: await response.text() };
}

/** The arguments in an answer, without the escapes of the texts and the cuts of the stream that they are in. */
function argumentsIn(text: string): string {
  const pieces = text.match(/"(?:partial_json|arguments)":"((?:[^"\\]|\\.)*)"/g) ?? [];
  return `${text} ${pieces.map((piece) => piece.slice(piece.indexOf(':') + 2, -1)).join('')}`.replaceAll('\\', '');
}

for (const format of Object.keys(formats)) {
  for (const stream of [false, true]) {
    const how = `${format}, ${stream ? 'streamed' : 'whole'}`;
    const other = format === 'messages' || format === 'gemini' ? otherCard : longCard;
    const args = `{"card":${card},"list":[1,${other}],"said":"${card}","n":7}`;
    for (const model of ['masks', 'twice']) {
      test(`numbers in arguments are masked, and given back as the same numbers: ${how}, ${model}`, async () => {
        const { status, text } = await ask(format, model, stream, args);
        assert.equal(status, 200, text);
        const sent = argumentsIn(bodies[0] ?? '');
        assert.ok(!sent.includes(card) && !sent.includes(other), sent);
        assert.match(sent, /"card": ?"<CARD_1>","list": ?\[1,"<CARD_2>"\],"said": ?"<CARD_3>","n": ?7/);
        const said = argumentsIn(text);
        assert.match(
          said,
          new RegExp(`"cards": ?\\[\\s*${card},\\s*${other},\\s*"${card}"\\s*\\],\\s*"text": ?"pay ${card}"`),
        );
        assert.ok(text.includes(`${card}.`), text);
      });
    }
  }
  test(`a number is blocked as text is: ${format}`, async () => {
    const { status, text } = await ask(format, 'blocks', false, `{"deep":[{"card":${longCard}}]}`);
    assert.equal(status, 400, text);
    assert.match(text, /guard_blocked/);
    assert.equal((await ask(format, 'blocks', false, '{"n":4111111111111112,"at":1718000000000}')).status, 200);
  });
}

test('settings of a request are no texts, and a number that must stay one is refused where it would be masked', async () => {
  const ask = (more: object) =>
    gateway.fetch('/v1/chat/completions', {
      json: { model: 'masks', messages: [{ role: 'user', content: 'x' }], ...more },
    });
  assert.equal((await ask({ seed: Number(card) })).status, 200);
  const parameters = { type: 'object', properties: { card: { const: Number(card) } } };
  const refused = await ask({ tools: [{ type: 'function', function: { name: 'f', parameters } }] });
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /a number that is no argument of a tool/);
});

test('texts that are JSON stay JSON: numbers get quotes, and backslashes stay', async () => {
  const holds = (text: string, as: string) => {
    const { path, body } = formats[as]!;
    const raw = body('{}', '"model":"masks","stream":false').replaceAll('"done"', JSON.stringify(text));
    return gateway.fetch(path('masks', false), {
      method: 'POST',
      body: raw,
      headers: { 'content-type': 'application/json' },
    });
  };
  const text = `{"a": ${card}, "list": [1, ${otherCard}\n], "b": "card ${card}", "c": ${card}}`;
  for (const format of Object.keys(formats)) {
    bodies.length = 0;
    const answer = await holds(text, format);
    assert.equal(answer.status, 200, await answer.text());
    const sent = JSON.stringify(JSON.parse(bodies[0]!));
    assert.ok(!sent.includes(card), sent);
    const found = /\{\\*"a\\*":.*?\\*"c\\*": ?\\*"<CARD_1>\\*"\}/.exec(sent)?.[0] ?? sent;
    const plain = found.replaceAll(/\\+"/g, '"').replaceAll(/\\+n/g, ' ');
    assert.deepEqual(
      JSON.parse(plain),
      { a: '<CARD_1>', list: [1, '<CARD_2>'], b: 'card <CARD_1>', c: '<CARD_1>' },
      format,
    );
  }
});
