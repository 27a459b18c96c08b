import assert from 'node:assert/strict';
import type { JsonObject } from '../../../src/kernel/json.ts';
import type { Ask, CallerFormat, Seen, ServerEvent } from './formats.ts';

interface Call {
  index?: number;
  id?: string;
  type?: string;
  function: { name?: string; arguments: string };
  extra_content?: JsonObject;
}
interface Message {
  role?: string;
  content?: string | null;
  reasoning_content?: string | null;
  reasoning_details?: JsonObject[];
  refusal?: string | null;
  tool_calls?: Call[];
}
interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details?: { cached_tokens?: number };
}
interface Completion {
  object: string;
  id: string;
  choices: { index: number; message?: Message; delta?: Message; finish_reason: string | null }[];
  usage?: Usage | null;
}

/** Chat completions as OpenAI's clients write and read them. */
export const chatCaller: CallerFormat = {
  id: 'openai-chat',
  path: () => '/v1/chat/completions',
  body(model, ask, delivery) {
    const body: JsonObject = { model, messages: messagesOf(ask) };
    if (delivery === 'stream') body.stream = true;
    if (delivery === 'stream' && ask.usage) body.stream_options = { include_usage: true };
    if (ask.tools) body.tools = ask.tools.map((tool) => ({ type: 'function', function: { ...tool } }));
    if (ask.demand) body.tool_choice = { type: 'function', function: { name: ask.demand } };
    if (ask.oneCall) body.parallel_tool_calls = false;
    if (ask.think) body.reasoning_effort = 'low';
    if (ask.schema) {
      body.response_format = { type: 'json_schema', json_schema: { name: 'place', strict: true, schema: ask.schema } };
    }
    if (ask.stop) body.stop = ask.stop;
    if (ask.maxTokens) body.max_tokens = ask.maxTokens;
    return { ...body, ...ask.beside };
  },
  whole(body) {
    const completion = body as unknown as Completion;
    assert.equal(completion.object, 'chat.completion');
    const { message, finish_reason } = completion.choices[0]!;
    return seenOf(message!, finish_reason, completion.usage ?? null);
  },
  errorOf(body) {
    const { message, type, code } = body.error as { message: string; type: string; code: number };
    return { message, type, code };
  },
  stream: readStream,
};

function messagesOf(ask: Ask): JsonObject[] {
  const { picture, document } = ask;
  const parts: JsonObject[] = [{ type: 'text', text: ask.say }];
  if (picture !== undefined) {
    const url = picture.startsWith('http') ? picture : `data:image/png;base64,${picture}`;
    parts.push({ type: 'image_url', image_url: { url } });
  }
  if (document !== undefined) {
    const file = { filename: 'paper.pdf', file_data: `data:application/pdf;base64,${document}` };
    parts.push({ type: 'file', file });
  }
  const results =
    ask.answered?.results.map(({ id, text }) => ({ role: 'tool', tool_call_id: id, content: text })) ?? [];
  return [
    ...(ask.system === undefined ? [] : [{ role: 'system', content: ask.system }]),
    { role: 'user', content: parts.length > 1 ? parts : ask.say },
    ...(ask.answered?.turn ?? []),
    ...results,
  ];
}

function seenOf(message: Message, finish: string | null, usage: Usage | null): Seen {
  assert.equal(message.role, 'assistant');
  const calls = message.tool_calls ?? [];
  const text = message.content ?? '';
  const thinking = message.reasoning_content ?? '';
  if (usage !== null) assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
  const { reasoning_content: _, ...turn } = message;
  return {
    text,
    thinking,
    calls: calls.map((call) => {
      assert.equal(call.type, 'function');
      return { id: call.id ?? '', name: call.function.name ?? '', argumentsJson: call.function.arguments };
    }),
    // A message has places for them, not an order.
    order: [
      ...(thinking === '' ? [] : (['thinking'] as const)),
      ...(text === '' ? [] : (['text'] as const)),
      ...calls.map(() => 'call' as const),
    ],
    stop: finish ?? '',
    stopSequence: null,
    usage: usage && {
      input: usage.prompt_tokens,
      cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
      output: usage.completion_tokens,
    },
    turn: [turn as JsonObject],
  };
}

function readStream(events: readonly ServerEvent[]): ReturnType<CallerFormat['stream']> {
  const message: Message = {};
  const calls: Call[] = [];
  let finish: string | null = null;
  let usage: Usage | null = null;
  let clean = false;
  const order: Seen['order'] = [];
  for (const { event, data } of events) {
    assert.equal(event, '', 'chat streams have no event names');
    assert.equal(clean, false, 'nothing follows [DONE]');
    if (data === '[DONE]') {
      clean = true;
      continue;
    }
    const chunk = JSON.parse(data) as Completion & JsonObject;
    if (chunk.error !== undefined) {
      assert.equal(events.at(-1)!.data, data, 'an error ends the stream, without [DONE]');
      return { seen: null, error: chatCaller.errorOf(chunk), clean: false };
    }
    assert.equal(chunk.object, 'chat.completion.chunk');
    if (chunk.usage) usage = chunk.usage;
    const choice = chunk.choices.find(({ index }) => index === 0);
    if (choice === undefined) continue;
    const { delta = {} } = choice;
    if (message.role === undefined) assert.equal(delta.role, 'assistant', 'the first chunk has the role');
    message.role ??= delta.role!;
    if (delta.content) {
      message.content = (message.content ?? '') + delta.content;
      if (order.at(-1) !== 'text') order.push('text');
    }
    if (delta.reasoning_details) {
      message.reasoning_details = [...(message.reasoning_details ?? []), ...delta.reasoning_details];
    }
    if (delta.reasoning_content) {
      message.reasoning_content = (message.reasoning_content ?? '') + delta.reasoning_content;
      if (order.at(-1) !== 'thinking') order.push('thinking');
    }
    for (const { index, ...part } of delta.tool_calls ?? []) {
      const call = calls[index!];
      if (call === undefined) {
        assert.equal(index, calls.length, 'call indexes are dense');
        calls.push({ ...part, function: { ...part.function } });
        order.push('call');
      } else call.function.arguments += part.function?.arguments ?? '';
    }
    finish = choice.finish_reason ?? finish;
  }
  if (!clean) return { seen: null, error: null, clean };
  if (calls.length > 0) message.tool_calls = calls;
  return { seen: { ...seenOf(message, finish, usage), order }, error: null, clean };
}
