import { isObject, type JsonObject } from '../../src/kernel/json.ts';
import { count, type Finish, finishOf, objectsOf, type Said, type SaidUsage, said, spelt, words } from './said.ts';

const finishes: Readonly<Record<string, Finish>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  tool_use: 'tools',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'filtered',
};

/** Contents of a message of Anthropic's format. */
export function saidByMessage(message: JsonObject): Said {
  const blocks = objectsOf(message.content);
  const of = (type: string) => blocks.filter((block) => block.type === type);
  const { usage } = message;
  return said({
    text: of('text')
      .map(({ text }) => words(text))
      .join(''),
    tools: of('tool_use').map(({ name, input }) => ({ name: words(name), arguments: spelt(input) })),
    finish: finishOf(finishes, message.stop_reason),
    usage: isObject(usage) ? usageOf(usage) : null,
    thoughts: of('thinking')
      .map(({ thinking }) => words(thinking))
      .join(''),
    media: of('image').length,
    citations: blocks.reduce((sum, { citations }) => sum + objectsOf(citations).length, 0),
  });
}

/** Runs for a compaction or an advisor stand in `iterations` alone. */
function usageOf(usage: JsonObject): SaidUsage {
  const runs = objectsOf(usage.iterations).filter(({ type }) => type === 'compaction' || type === 'advisor_message');
  const sum = (of: (counts: JsonObject) => number) => [usage, ...runs].reduce((all, one) => all + of(one), 0);
  return {
    input: sum(
      ({ input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: written }) =>
        count(input) + count(read) + count(written),
    ),
    output: sum(({ output_tokens: output }) => count(output)),
  };
}

/** The events of a stream as the message that they make. */
export function foldMessage(events: readonly JsonObject[]): JsonObject {
  let message: JsonObject = {};
  const blocks: JsonObject[] = [];
  const inputs = new Map<JsonObject, string>();
  for (const event of events) {
    if (event.type === 'message_start' && isObject(event.message)) {
      message = { ...event.message };
      // Steps of a server tool begin with their contents.
      blocks.push(...objectsOf(message.content));
    }
    const index = count(event.index);
    if (event.type === 'content_block_start' && isObject(event.content_block))
      blocks[index] = { ...event.content_block };
    const block = blocks[index];
    if (event.type === 'content_block_delta' && isObject(event.delta) && block !== undefined) {
      const { delta } = event;
      if (delta.type === 'text_delta') block.text = words(block.text) + words(delta.text);
      if (delta.type === 'thinking_delta') block.thinking = words(block.thinking) + words(delta.thinking);
      if (delta.type === 'citations_delta')
        block.citations = [...objectsOf(block.citations), delta.citation as JsonObject];
      if (delta.type === 'input_json_delta') {
        inputs.set(block, (inputs.get(block) ?? '') + words(delta.partial_json));
        block.input = inputs.get(block) === '' ? {} : inputs.get(block)!;
      }
    }
    if (event.type === 'message_delta') {
      if (isObject(event.delta)) message.stop_reason = event.delta.stop_reason;
      const before = isObject(message.usage) ? message.usage : {};
      const told = Object.entries(isObject(event.usage) ? event.usage : {}).filter(([, value]) => value !== null);
      message.usage = { ...before, ...Object.fromEntries(told) };
    }
  }
  return { ...message, content: blocks.filter((block) => block !== undefined) };
}
