import assert from 'node:assert/strict';
import type { JsonObject } from '../../../src/kernel/json.ts';
import type { Ask, CallerFormat, Seen, ServerEvent } from './formats.ts';

type Block =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'tool_use'; id: string; name: string; input: JsonObject };
interface Usage {
  input_tokens: number;
  cache_read_input_tokens?: number | null;
  cache_creation_input_tokens?: number | null;
  output_tokens: number;
}
interface Message {
  type: string;
  role: string;
  content: Block[];
  stop_reason: string | null;
  stop_sequence: string | null;
  usage: Usage;
}

/** Messages as Anthropic's clients write and read them. */
export const messagesCaller: CallerFormat = {
  id: 'anthropic-messages',
  path: () => '/v1/messages',
  body(model, ask, delivery) {
    const body: JsonObject = { model, max_tokens: ask.maxTokens ?? 4_096, messages: messagesOf(ask) };
    if (delivery === 'stream') body.stream = true;
    if (ask.tools) body.tools = ask.tools.map(({ name, parameters }) => ({ name, input_schema: parameters }));
    if (ask.demand) body.tool_choice = { type: 'tool', name: ask.demand };
    if (ask.oneCall) body.tool_choice = { type: 'auto', disable_parallel_tool_use: true };
    if (ask.think) body.thinking = { type: 'enabled', budget_tokens: 1_024 };
    if (ask.schema) body.output_config = { format: { type: 'json_schema', schema: ask.schema } };
    if (ask.stop) body.stop_sequences = [ask.stop];
    if (ask.system) body.system = ask.system;
    return { ...body, ...ask.beside };
  },
  whole: (body) => seenOf(body as unknown as Message),
  errorOf(body) {
    assert.equal(body.type, 'error', "Anthropic's wrapping");
    assert.equal(typeof body.request_id, 'string');
    const { message, type, code } = body.error as { message: string; type: string; code: number };
    return { message, type, code };
  },
  stream: readStream,
};

function messagesOf(ask: Ask): JsonObject[] {
  const { picture, document } = ask;
  const content: JsonObject[] = [];
  if (picture !== undefined) {
    const source = picture.startsWith('http')
      ? { type: 'url', url: picture }
      : { type: 'base64', media_type: 'image/png', data: picture };
    content.push({ type: 'image', source });
  }
  if (document !== undefined) {
    content.push({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: document } });
  }
  content.push({ type: 'text', text: ask.say });
  const results = ask.answered?.results.map(({ id, text }) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: text,
  }));
  return [
    { role: 'user', content },
    ...(ask.answered?.turn ?? []),
    ...(results === undefined ? [] : [{ role: 'user', content: results }]),
  ];
}

const kinds = { text: 'text', thinking: 'thinking', tool_use: 'call', image: 'picture' } as const;

function seenOf(message: Message): Seen {
  assert.deepEqual([message.type, message.role], ['message', 'assistant']);
  const { content, usage } = message;
  const cached = usage.cache_read_input_tokens ?? 0;
  return {
    text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    thinking: content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
    calls: content.flatMap((block) =>
      block.type === 'tool_use' ? [{ id: block.id, name: block.name, argumentsJson: JSON.stringify(block.input) }] : [],
    ),
    order: content.map((block) => {
      assert.ok(block.type in kinds, `unexpected block ${block.type}`);
      return kinds[block.type];
    }),
    stop: message.stop_reason ?? '',
    stopSequence: message.stop_sequence,
    usage: {
      input: usage.input_tokens + cached + (usage.cache_creation_input_tokens ?? 0),
      cached,
      output: usage.output_tokens,
    },
    turn: [{ role: 'assistant', content: content as unknown as JsonObject[] }],
  };
}

interface OpenBlock {
  index: number;
  block: Block;
  json: string;
}

function readStream(events: readonly ServerEvent[]): ReturnType<CallerFormat['stream']> {
  let message: Message | null = null;
  let open: OpenBlock | null = null;
  let clean = false;
  for (const { event, data } of events) {
    const frame = JSON.parse(data) as JsonObject;
    assert.equal(frame.type, event, 'event names are the types');
    assert.equal(clean, false, 'nothing follows message_stop');
    if (event === 'ping') continue;
    if (event === 'error') {
      assert.equal(events.at(-1)!.data, data, 'an error ends the stream');
      return { seen: null, error: messagesCaller.errorOf(frame), clean: false };
    }
    if (event === 'message_start') {
      assert.equal(message, null, 'exactly one message_start');
      message = structuredClone(frame.message) as unknown as Message;
      assert.deepEqual(message.content, []);
      assert.ok(message.usage.input_tokens > 0, 'message_start has an estimate of the input');
      continue;
    }
    assert.ok(message, 'message_start comes first');
    if (event === 'content_block_start') {
      assert.equal(open, null, 'one block at a time');
      assert.equal(frame.index, message.content.length, 'block indexes are dense');
      open = {
        index: frame.index as number,
        block: structuredClone(frame.content_block) as unknown as Block,
        json: '',
      };
    } else if (event === 'content_block_delta') {
      addDelta(opened(open, frame), frame.delta as JsonObject);
    } else if (event === 'content_block_stop') {
      const { block, json } = opened(open, frame);
      if (block.type === 'tool_use') block.input = JSON.parse(json === '' ? '{}' : json) as JsonObject;
      message.content.push(block);
      open = null;
    } else if (event === 'message_delta') {
      assert.equal(open, null, 'blocks are closed before the end');
      Object.assign(message, frame.delta);
      Object.assign(message.usage, frame.usage);
    } else {
      assert.equal(event, 'message_stop');
      assert.ok(message.stop_reason, 'message_delta told why it ended');
      clean = true;
    }
  }
  return { seen: clean ? seenOf(message!) : null, error: null, clean };
}

function opened(open: OpenBlock | null, frame: JsonObject): OpenBlock {
  assert.equal(open?.index, frame.index, `${String(frame.type)} is of the open block`);
  return open!;
}

function addDelta(open: OpenBlock, delta: JsonObject): void {
  const { block } = open;
  if (delta.type === 'text_delta' && block.type === 'text') block.text += delta.text as string;
  else if (delta.type === 'thinking_delta' && block.type === 'thinking') block.thinking += delta.thinking as string;
  else if (delta.type === 'signature_delta' && block.type === 'thinking') block.signature = delta.signature as string;
  else if (delta.type === 'input_json_delta' && block.type === 'tool_use') open.json += delta.partial_json as string;
  else assert.fail(`a ${String(delta.type)} in a block of ${block.type}`);
}
