import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { after, beforeEach, type TestContext, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { startService } from './start-service.ts';

/* Members that look like labels or bytes and are texts, and others that look like texts and that nobody has written. */

const t = { after } as TestContext;
const upstream = await startUpstream();
after(upstream.close);
beforeEach(() => upstream.clear());
/** The message that it answers with, in chat completions and in Messages. */
let message: JsonObject = {};
/** Its members in addition to that. */
let more: JsonObject = {};
const playing = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += String(piece);
  if (request.method === 'GET') return response.end('{"data":[]}');
  const isStream = /"stream": ?true/.test(body);
  response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json');
  const usage = { prompt_tokens: 1, completion_tokens: 1, input_tokens: 1, output_tokens: 1 };
  const head = {
    id: 'a',
    object: 'chat.completion',
    type: 'message',
    role: 'assistant',
    created: 1,
    model: 'm',
    usage,
    ...more,
  };
  if (!isStream) {
    const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }];
    return response.end(JSON.stringify({ ...head, choices, ...message, stop_reason: 'end_turn' }));
  }
  const send = (type: string, data: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  if (request.url?.endsWith('/messages')) {
    send('message_start', { message: { ...head, content: [], stop_reason: null } });
    for (const [index, block] of (message.content as JsonObject[]).entries()) {
      send('content_block_start', { index, content_block: block });
      send('content_block_stop', { index });
    }
    const { stop_sequence = null } = message;
    send('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence }, usage });
    send('message_stop', {});
    return response.end();
  }
  for (const delta of [message, {}]) {
    const choices = [{ index: 0, delta, finish_reason: delta === message ? null : 'stop' }];
    response.write(`data: ${JSON.stringify({ ...head, choices })}\n\n`);
  }
  return response.end('data: [DONE]\n\n');
});
const played = await listening(t, playing);
const service = await startService(after);
service.play = () => ({ verdict: 'pass' });
const email = { check: 'personal-data', kinds: ['email'] };
const key = { api_key: 'k' };
const targets = {
  openai: 'openai/mock/ok',
  claude: 'claude/claude-sonnet-4-5',
  thinker: 'thinker/deepseek-reasoner',
  aws: 'aws/amazon.nova-pro-v1:0',
  'plays-chat': 'plays-chat/m',
  'plays-claude': 'plays-claude/m',
};
const gateway = await startGateway(t, {
  providers: {
    openai: { type: 'openai', base_url: `${upstream.url}/v1`, ...key, dialects: ['openai-chat'] },
    claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, ...key },
    thinker: { type: 'deepseek', base_url: `${upstream.url}/v1`, ...key },
    aws: { type: 'bedrock', base_url: upstream.url, region: 'us-east-1', ...key },
    'plays-chat': { type: 'openai', base_url: `${played}/v1`, ...key, dialects: ['openai-chat'] },
    'plays-claude': { type: 'anthropic', base_url: `${played}/v1`, ...key },
  },
  guards: {
    mask: { ...email, action: 'mask' },
    block: { ...email, action: 'block' },
    asks: { check: 'webhook', url: service.url, action: 'block', on: ['output'] },
    keys: { check: 'secrets', action: 'mask' },
    tickets: { check: 'patterns', patterns: ['TICKET-\\d{4}'], action: 'mask', on: ['output'] },
  },
  models: Object.fromEntries(
    Object.entries(targets).flatMap(([name, target]) =>
      ['mask', 'block', 'asks', 'tickets', 'keys'].map((guard) => [
        `${name}-${guard}`,
        { targets: [target], guards: [guard] },
      ]),
    ),
  ),
});
const value = 'jo@example.org';
const sealed = (text: string) => `culvert.thought.${Buffer.from(text).toString('base64url')}`;
const telling = (text: string) =>
  `culvert.openai-chat.${Buffer.from(JSON.stringify({ from: 'deepseek', details: [{ text }] })).toString('base64url')}`;
/** As a provider encrypts its thoughts. */
const encrypted = randomBytes(2_000).toString('base64');
const ask = { role: 'user', content: 'Hello' };
const chat = (messages: object[], more: object = {}) => ['/v1/chat/completions', { messages, ...more }] as const;
const messages = (...content: object[]) =>
  ['/v1/messages', { max_tokens: 900, messages: [ask, { role: 'assistant', content }, ask] }] as const;
const hi = { type: 'text', text: 'Hi' };
const object = { type: 'object', properties: {} };
const schema = { ...object, $defs: { [value]: { type: 'string' } } };

type Planted = readonly [provider: keyof typeof targets, request: readonly [path: string, body: object]];
const texts: Record<string, readonly [...Planted, masked: RegExp]> = {
  'the name of who speaks': ['openai', chat([{ ...ask, name: value }]), /does not let the name of who speaks pass/],
  'the name of a definition in a schema': [
    'openai',
    chat([ask], { tools: [{ type: 'function', function: { name: 'f', parameters: schema } }] }),
    /does not let the name of a JSON member pass/,
  ],
  'the format of a schema': [
    'openai',
    chat([ask], { tools: [{ type: 'function', function: { name: 'f', parameters: { ...object, format: value } } }] }),
    /"format":"<EMAIL_1>"/,
  ],
  'the id of a schema of Messages': [
    'claude',
    [
      '/v1/messages',
      { max_tokens: 900, messages: [ask], tools: [{ name: 'f', input_schema: { ...object, id: value } }] },
    ],
    /"id":"<EMAIL_1>"/,
  ],
  'the name of a document': [
    'aws',
    [
      '/model/MODEL/converse',
      {
        messages: [
          {
            role: 'user',
            content: [{ text: 'x' }, { document: { format: 'txt', name: value, source: { text: 'x' } } }],
          },
        ],
      },
    ],
    /<EMAIL_1>|EMAIL 1/,
  ],
  'a thought that its caller did not want to see': [
    'thinker',
    messages({ type: 'thinking', thinking: '', signature: sealed(`I write to ${value}.`) }, hi),
    /I write to <EMAIL_1>\./,
  ],
  'a proof of another format that has its text': [
    'thinker',
    messages({ type: 'thinking', thinking: 'Hm.', signature: telling(`I write to ${value}.`) }, hi),
    /"content":"Hi"/,
  ],
};

async function send([provider, [path, body]]: Planted, guard: string, more: object = {}) {
  const model = `${provider}-${guard}`;
  const isInPath = path.includes('MODEL');
  const json = { ...(!isInPath && { model }), ...body, ...more };
  const response = await gateway.fetch(path.replace('MODEL', model), { json });
  return { status: response.status, text: await response.text() };
}
const sent = () => JSON.stringify(upstream.requests().filter(({ body }) => body !== null));

for (const [what, planted] of Object.entries(texts)) {
  test(`${what} is a text: no guard lets a value pass there`, async () => {
    const [provider, request, masked] = planted;
    const stopped = await send([provider, request], 'block');
    assert.equal(stopped.status, 400, stopped.text);
    assert.match(stopped.text, /guard_blocked|does not let the request pass/);
    const { text } = await send([provider, request], 'mask');
    assert.match(text + sent(), masked);
    assert.ok(!sent().includes(value) && !sent().includes('example'), sent());
  });
}

const thoughts: Record<string, Planted> = {
  'Claude hid': ['claude', messages({ type: 'redacted_thinking', data: encrypted }, hi)],
  "OpenRouter's clients keep": [
    'claude',
    chat([
      ask,
      {
        ...{ role: 'assistant', content: 'Hi' },
        reasoning_details: [{ type: 'reasoning.encrypted', data: encrypted, format: 'anthropic-claude-v1' }],
      },
      ask,
    ]),
  ],
  "LiteLLM's clients keep": [
    'claude',
    chat([
      ask,
      { role: 'assistant', content: 'Hi', thinking_blocks: [{ type: 'redacted_thinking', data: encrypted }] },
      ask,
    ]),
  ],
};
for (const [what, planted] of Object.entries(thoughts)) {
  test(`an encrypted thought that ${what} holds up no request`, async () => {
    for (const guard of ['mask', 'block']) {
      const { status, text } = await send(planted, guard);
      assert.equal(status, 200, text);
    }
    assert.ok(sent().includes(encrypted));
  });
}

for (const stream of [false, true]) {
  const form = stream ? 'streamed' : 'whole';
  test(`an encrypted thought of an answer passes guards, ${form}`, async () => {
    message = {
      content: [
        { type: 'redacted_thinking', data: encrypted },
        { type: 'text', text: 'Hi' },
      ],
    };
    for (const guard of ['mask', 'block']) {
      const thinking = { type: 'enabled', budget_tokens: 1_024 };
      const body = { max_tokens: 2_000, messages: [ask], thinking };
      const { status, text } = await send(['plays-claude', ['/v1/messages', body]], guard, { stream });
      assert.equal(status, 200, text);
      assert.ok(text.includes(encrypted), text.slice(0, 600));
    }
  });

  test(`what is too deep in an answer to be read is left out of it, ${form}`, async () => {
    const deep = JSON.parse(`${'{"a":'.repeat(5_000)}"${value}"${'}'.repeat(5_000)}`) as JsonObject;
    message = { content: [{ type: 'odd', deep }, hi] };
    for (const guard of ['mask', 'block', 'asks']) {
      const { status, text } = await send(['plays-claude', messages(hi)], guard, { stream });
      assert.equal(status, 200, text);
      assert.match(text, /"odd"/);
      assert.ok(!text.includes(value), text.slice(0, 600));
    }
  });

  test(`a proof of an answer says nothing that a guard hides, ${form}`, async () => {
    const thought = `I write to ${value}.`;
    const detail = { type: 'reasoning.text', text: thought, signature: 'c2lnbmVk', format: 'unknown', index: 0 };
    message = { content: 'Hi', reasoning: thought, reasoning_details: [detail] };
    const gemini = `/v1beta/models/MODEL:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;
    const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];
    const requests: (readonly [string, object])[] = [
      [
        '/v1/messages',
        { max_tokens: 2_000, messages: [ask], thinking: { type: 'enabled', budget_tokens: 1_024 }, stream },
      ],
      ['/v1/responses', { input: 'Hello', include: ['reasoning.encrypted_content'], stream }],
      [gemini, { contents, generationConfig: { thinkingConfig: { includeThoughts: true } } }],
      [...chat([ask], { stream })],
    ];
    for (const request of requests) {
      const { status, text } = await send(['plays-chat', request], 'mask');
      assert.equal(status, 200, text);
      assert.match(text, /<EMAIL_1>/);
      const decoded = [...text.matchAll(/[\w+/=-]{24,}/g)].map(([one]) => Buffer.from(one, 'base64').toString());
      const twice = decoded.flatMap((one) => [...one.matchAll(/[\w+/=-]{24,}/g)]);
      const all = [text, ...decoded, ...twice.map(([one]) => Buffer.from(one, 'base64').toString())];
      assert.ok(!all.some((one) => one.includes('example')), text);
    }
  });

  test(`a word among the further members of an answer is a text, ${form}`, async (t) => {
    t.after(() => {
      more = {};
    });
    message = { content: 'Hi' };
    more = { system_fingerprint: 'TICKET-1234', service_tier: 'default' };
    const { text } = await send(['plays-chat', chat([ask])], 'tickets', { stream });
    assert.match(text, /"system_fingerprint":"<PATTERN_1>"/);
    assert.match(text, /"service_tier":"default"/);
    assert.ok(!text.includes('TICKET-'), text);
  });

  test(`the sequence that ended an answer is as its caller wrote it, ${form}`, async () => {
    message = { content: [hi], stop_sequence: '<EMAIL_1>' };
    const request = ['/v1/messages', { max_tokens: 9, messages: [ask], stop_sequences: [value] }] as const;
    const { text } = await send(['plays-claude', request], 'mask', { stream });
    assert.match(text, /"stop_sequence":"jo@example\.org"/);
  });

  test(`an answer in JSON stays JSON where a value with several lines comes back, ${form}`, async () => {
    const key = `-----BEGIN PRIVATE KEY-----\n${randomBytes(96).toString('base64')}\n-----END PRIVATE KEY-----`;
    const call = { name: 'save', arguments: '{"key":"<PRIVATE_KEY_1>"}' };
    message = {
      content: '{"key":"<PRIVATE_KEY_1>","said":"<PRIVATE_KEY_1>"}',
      tool_calls: [{ index: 0, id: 't', type: 'function', function: call }],
    };
    for (const content of [`Repeat ${key}`, JSON.stringify({ key })]) {
      const { text } = await send(['plays-chat', chat([{ role: 'user', content }])], 'keys', { stream });
      const written = (name: string) => {
        const all = text.matchAll(new RegExp(`"${name}":("(?:[^"\\\\]|\\\\.)*")`, 'g'));
        return JSON.parse(Array.from(all, ([, one = '']) => JSON.parse(one)).join(''));
      };
      assert.deepEqual(written('content'), { key, said: key }, text);
      assert.deepEqual(written('arguments'), { key }, text);
    }
  });

  test(`the name of a file in an answer is a text, ${form}`, async () => {
    const file = { hash: 'h', name: `${value}.pdf`, content: [{ type: 'text', text: 'x' }] };
    message = { content: 'Hi', annotations: [{ type: 'file', file }] };
    const { text } = await send(['plays-chat', chat([ask])], 'mask', { stream });
    assert.match(text, /"name":"<EMAIL_1>/);
    assert.ok(!text.includes('example'), text);
  });
}
