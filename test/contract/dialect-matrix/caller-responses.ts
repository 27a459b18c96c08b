import assert from 'node:assert/strict';
import type { JsonObject } from '../../../src/kernel/json.ts';
import type { Ask, CallerFormat, Seen, ServerEvent } from './formats.ts';

type Item =
  | { type: 'message'; role: string; content: { type: string; text: string; refusal?: string }[] }
  | { type: 'reasoning'; summary: { text: string }[]; content?: { text: string }[] | null }
  | { type: 'function_call'; call_id: string; name: string; arguments: string }
  | { type: 'custom_tool_call'; call_id: string; name: string; input: string };
interface Usage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number };
  output_tokens: number;
  total_tokens: number;
}
interface Answer {
  object: string;
  status: string;
  incomplete_details: { reason: string } | null;
  output: Item[];
  error: { code: string; message: string } | null;
  usage: Usage | null;
}

/** Responses as OpenAI's clients write and read them. */
export const responsesCaller: CallerFormat = {
  id: 'openai-responses',
  path: () => '/v1/responses',
  body(model, ask, delivery) {
    const body: JsonObject = { model, input: inputOf(ask), store: false };
    if (delivery === 'stream') body.stream = true;
    if (ask.tools) body.tools = ask.tools.map((tool) => ({ type: 'function', strict: false, ...tool }));
    if (ask.demand) body.tool_choice = { type: 'function', name: ask.demand };
    if (ask.oneCall) body.parallel_tool_calls = false;
    if (ask.think) body.reasoning = { effort: 'low', summary: 'auto' };
    if (ask.think) body.include = ['reasoning.encrypted_content'];
    if (ask.schema) body.text = { format: { type: 'json_schema', name: 'place', strict: true, schema: ask.schema } };
    if (ask.maxTokens) body.max_output_tokens = ask.maxTokens;
    if (ask.system) body.instructions = ask.system;
    return { ...body, ...ask.beside };
  },
  whole(body) {
    const answer = body as unknown as Answer;
    assert.equal(answer.object, 'response');
    const { output, usage } = answer;
    if (usage !== null) assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens);
    return {
      text: output
        .map((item) => (item.type === 'message' ? item.content.map((part) => part.text).join('') : ''))
        .join(''),
      thinking: output.map(thoughtOf).join(''),
      calls: output.flatMap(callsOf),
      order: output.flatMap((item) => {
        assert.ok(item.type in kinds, `unexpected item ${item.type}`);
        // An item may hold nothing but what the provider wants back.
        return item.type === 'reasoning' && thoughtOf(item) === '' ? [] : [kinds[item.type]];
      }),
      stop: answer.status === 'incomplete' ? `incomplete: ${answer.incomplete_details?.reason}` : answer.status,
      stopSequence: null,
      usage: usage && {
        input: usage.input_tokens,
        cached: usage.input_tokens_details.cached_tokens,
        output: usage.output_tokens,
      },
      turn: output as unknown as JsonObject[],
    };
  },
  errorOf(body) {
    const { message, type, code } = body.error as { message: string; type: string; code: string };
    assert.equal(typeof code, 'string', 'codes are strings here: with a number Codex loses the message');
    return { message, type, code };
  },
  stream: readStream,
};

const kinds = {
  message: 'text',
  reasoning: 'thinking',
  function_call: 'call',
  custom_tool_call: 'call',
  image_generation_call: 'picture',
} as const;

function callsOf(item: Item): Seen['calls'] {
  if (item.type === 'custom_tool_call') return [{ id: item.call_id, name: item.name, argumentsJson: item.input }];
  return item.type === 'function_call' ? [{ id: item.call_id, name: item.name, argumentsJson: item.arguments }] : [];
}

function thoughtOf(item: Item): string {
  if (item.type !== 'reasoning') return '';
  return [...item.summary, ...(item.content ?? [])].map((part) => part.text).join('');
}

function inputOf(ask: Ask): JsonObject[] {
  const { picture, document, answered } = ask;
  const content: JsonObject[] = [{ type: 'input_text', text: ask.say }];
  if (picture !== undefined) {
    const url = picture.startsWith('http') ? picture : `data:image/png;base64,${picture}`;
    content.push({ type: 'input_image', detail: 'auto', image_url: url });
  }
  if (document !== undefined) {
    const fileData = `data:application/pdf;base64,${document}`;
    content.push({ type: 'input_file', filename: 'paper.pdf', file_data: fileData });
  }
  const { turn = [], results = [] } = answered ?? {};
  const outputs = results.map(({ id, text }) => {
    const call = turn.find((item) => item.call_id === id);
    return { type: `${String(call?.type)}_output`, call_id: id, output: text };
  });
  return [{ type: 'message', role: 'user', content }, ...turn, ...outputs];
}

const callDeltas = ['response.function_call_arguments.delta', 'response.custom_tool_call_input.delta'];
const terminals = ['response.completed', 'response.incomplete', 'response.failed'];

function readStream(events: readonly ServerEvent[]): ReturnType<CallerFormat['stream']> {
  const items: JsonObject[] = [];
  let opened = 0;
  let text = '';
  let thinking = '';
  let callArguments = '';
  for (const [at, { event, data }] of events.entries()) {
    const frame = JSON.parse(data) as JsonObject;
    assert.equal(frame.type, event, 'event names are the types');
    assert.equal(frame.sequence_number, at, 'events are numbered');
    if (at === 0 && event !== 'error') assert.ok(['response.created', 'response.failed'].includes(event), event);
    if (event === 'response.output_item.added') {
      assert.equal(frame.output_index, opened, 'output indexes are dense');
      opened += 1;
    } else if (event === 'response.output_item.done') items[frame.output_index as number] = frame.item as JsonObject;
    else if (event === 'response.output_text.delta') text += frame.delta as string;
    else if (/^response\.reasoning(_summary)?_text\.delta$/.test(event)) thinking += frame.delta as string;
    else if (callDeltas.includes(event)) callArguments += frame.delta as string;
    if (!terminals.includes(event) && event !== 'error') continue;
    assert.equal(at, events.length - 1, `nothing follows ${event}`);
    const response = frame.response as unknown as Answer & JsonObject;
    if (event === 'response.failed') {
      assert.equal(response.status, 'failed');
      const { code, message } = response.error!;
      assert.equal(typeof code, 'string');
      return { seen: null, error: { message, code, type: null }, clean: false };
    }
    if (event === 'error')
      return { seen: null, error: frame as unknown as Answer['error'] & { type: null }, clean: false };
    assert.equal(`response.${response.status}`, event);
    assert.deepEqual(response.output, items, 'the last event has the full output');
    assert.equal(items.length, opened, 'every item is ended');
    const seen = responsesCaller.whole(response);
    assert.deepEqual([text, thinking], [seen.text, seen.thinking], 'deltas and output are the same');
    assert.equal(callArguments, seen.calls.map((call) => call.argumentsJson).join(''));
    return { seen, error: null, clean: true };
  }
  return { seen: null, error: null, clean: false };
}
