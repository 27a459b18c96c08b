import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createParser } from 'eventsource-parser';
import { startUpstream } from '../../test/start-upstream.ts';

// No Anthropic SDK is installed. The names of these tests say what it needs of a stream.
const upstream = await startUpstream();
after(() => upstream.close());

interface Block {
  type: string;
  id?: string;
  text?: string;
  thinking?: string;
  signature?: string;
  name?: string;
  input?: unknown;
}
interface Message {
  content: Block[];
  stop_reason: string | null;
  stop_sequence: string | null;
  usage: { input_tokens: number; output_tokens: number; cache_read_input_tokens: number };
}
interface Event {
  type: string;
  index?: number;
  message?: Message;
  content_block?: Block;
  delta?: Record<string, string | null>;
  usage?: { output_tokens: number };
}

function post(path: string, body: object, spec = ''): Promise<Response> {
  return fetch(`${upstream.url}${path}`, {
    method: 'POST',
    headers: { 'x-api-key': 'sk-test', 'anthropic-version': '2023-06-01', 'x-mock': spec },
    body: JSON.stringify(body),
  });
}

const hi = { model: 'claude-x', max_tokens: 1_000, messages: [{ role: 'user', content: 'hi' }] };

async function whole(body: object, spec = ''): Promise<Message> {
  return (await (await post('/v1/messages', body, spec)).json()) as Message;
}

async function streamed(body: object, spec = ''): Promise<Event[]> {
  const events: Event[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => {
      const parsed = JSON.parse(data) as Event;
      assert.equal(event, parsed.type, 'the event line names the type');
      events.push(parsed);
    },
  });
  parser.feed(await (await post('/v1/messages', { ...body, stream: true }, spec)).text());
  return events;
}

/** Message that a client reads from a stream. */
function folded(events: readonly Event[]): Message {
  const message = structuredClone(events.find((event) => event.type === 'message_start')?.message) as Message;
  const json: string[] = [];
  for (const event of events) {
    const block = message.content[event.index ?? -1];
    if (event.type === 'content_block_start') message.content[event.index!] = { ...event.content_block! };
    else if (event.type === 'message_delta') {
      Object.assign(message, event.delta);
      message.usage.output_tokens = event.usage!.output_tokens;
    } else if (event.type === 'content_block_delta' && block !== undefined) {
      const { type, text, thinking, signature, partial_json: part } = event.delta!;
      if (type === 'text_delta') block.text += text!;
      if (type === 'thinking_delta') block.thinking += thinking!;
      if (type === 'signature_delta') block.signature = signature!;
      if (type === 'input_json_delta') {
        json[event.index!] = (json[event.index!] ?? '') + part;
        block.input = JSON.parse(json[event.index!]!.endsWith('}') ? json[event.index!]! : '{}');
      }
    }
  }
  return message;
}

/** All but the ids, which are new in every answer. */
function partsOf({ content, stop_reason, stop_sequence, usage }: Message): object {
  const blocks = content.map(({ id: _, ...block }) => block);
  return { blocks, stop_reason, stop_sequence, usage };
}

const tools = [
  {
    name: 'get_weather',
    input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
  { name: 'get_time', input_schema: { type: 'object', properties: {} } },
];

const requests: Record<string, object> = {
  'plain text': hi,
  'tool calls': { ...hi, tools, messages: [{ role: 'user', content: 'call get_weather and call get_time' }] },
  'a tool that is named': { ...hi, tools, tool_choice: { type: 'tool', name: 'get_time' } },
  thinking: { ...hi, thinking: { type: 'enabled', budget_tokens: 1_024 } },
  'a length limit': { ...hi, max_tokens: 2 },
  'a stop sequence': { ...hi, stop_sequences: ['to:'] },
};

for (const [name, request] of Object.entries(requests)) {
  test(`messages: ${name}: a stream adds up to the whole answer`, async () => {
    assert.deepEqual(partsOf(folded(await streamed(request))), partsOf(await whole(request)));
  });

  test(`messages: ${name}: every block is opened, closed and inside the message`, async () => {
    const types = (await streamed(request)).map((event) => event.type);
    assert.equal(types[0], 'message_start');
    assert.deepEqual(types.slice(-2), ['message_delta', 'message_stop']);
    let open = 0;
    for (const type of types) {
      if (type === 'content_block_start') open += 1;
      if (type === 'content_block_delta') assert.equal(open, 1);
      if (type === 'content_block_stop') open -= 1;
      assert.ok(open === 0 || open === 1);
    }
    assert.equal(open, 0);
  });
}

test('messages: stop reasons', async () => {
  const reasons = await Promise.all(Object.values(requests).map(async (request) => (await whole(request)).stop_reason));
  assert.deepEqual(reasons, ['end_turn', 'tool_use', 'tool_use', 'end_turn', 'max_tokens', 'stop_sequence']);
  assert.equal((await whole(requests['a stop sequence']!)).stop_sequence, 'to:');
});

test('messages: usage stands in message_start and message_delta, cached input apart', async () => {
  const events = await streamed(hi, 'tokens=12;cached=2');
  const start = events[0]!.message!.usage;
  assert.equal(start.cache_read_input_tokens, 2);
  assert.ok(start.input_tokens > 0);
  assert.equal(events.find((event) => event.type === 'message_delta')?.usage?.output_tokens, 12);
});

test('messages: after a tool result comes text', async () => {
  const answer = await whole({
    ...hi,
    tools,
    messages: [
      { role: 'user', content: 'call get_time' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'get_time', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'noon' }] },
    ],
  });
  assert.deepEqual(
    answer.content.map((block) => block.type),
    ['text'],
  );
});

test('messages: the text of a tool result counts as that of a message does', async () => {
  const content = 'a word. '.repeat(500);
  const counted = async (block: object) => {
    const messages = [{ role: 'user', content: [block] }];
    return (await whole({ ...hi, messages })).usage.input_tokens;
  };
  const said = await counted({ type: 'text', text: content });
  for (const one of [content, [{ type: 'text', text: content }]]) {
    const found = await counted({ type: 'tool_result', tool_use_id: 't', content: one });
    assert.ok(Math.abs(found - said) < 10, `${found} of ${said}`);
  }
});

test('messages: max_tokens is required, as there', async () => {
  const response = await post('/v1/messages', { ...hi, max_tokens: undefined });
  assert.equal(response.status, 400);
  const body = (await response.json()) as { type: string; error: { type: string; message: string } };
  assert.deepEqual([body.type, body.error.type], ['error', 'invalid_request_error']);
  assert.match(body.error.message, /max_tokens/);
});

test('messages: error types follow the status, and a code replaces them', async () => {
  const typeOf = async (spec: string) =>
    ((await (await post('/v1/messages', hi, spec)).json()) as { error: { type: string } }).error.type;
  assert.equal(await typeOf('status=529'), 'overloaded_error');
  assert.equal(await typeOf('status=401'), 'authentication_error');
  assert.equal(await typeOf('status=500;code=overloaded_error'), 'overloaded_error');
});

test('messages: an error in the stream is an error event', async () => {
  const events = await streamed(hi, 'error=1;code=overloaded_error');
  assert.equal(events.at(-1)?.type, 'error');
});

test('messages: omit=names leaves the event lines out', async () => {
  const text = await (await post('/v1/messages', { ...hi, stream: true }, 'omit=names')).text();
  assert.ok(!text.includes('event:') && text.includes('message_stop'));
});

test('messages: tokens are counted without an answer', async () => {
  const { max_tokens: _, ...unlimited } = hi;
  const response = await post('/v1/messages/count_tokens?beta=true', unlimited);
  const counted = (await response.json()) as { input_tokens: number };
  assert.equal(counted.input_tokens, (await whole(hi)).usage.input_tokens);
});

test("models: in Anthropic's shape for who sends anthropic-version", async () => {
  const response = await fetch(`${upstream.url}/v1/models?limit=1000`, {
    headers: { 'anthropic-version': '2023-06-01' },
  });
  const list = (await response.json()) as { data: { type: string; id: string }[]; has_more: boolean; first_id: string };
  assert.deepEqual([list.data[0]?.type, list.first_id, list.has_more], ['model', 'sim/chat', false]);
});
