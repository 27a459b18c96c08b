import { isObject, type JsonObject } from '../../src/kernel/json.ts';
import { count, type Finish, finishOf, objectsOf, type Said, said, spelt, words } from './said.ts';

const incomplete: Readonly<Record<string, Finish>> = {
  max_output_tokens: 'length',
  max_tokens: 'length',
  content_filter: 'filtered',
};

/** Contents of a response of OpenAI's newer format. */
export function saidByResponse(response: JsonObject): Said {
  const items = objectsOf(response.output);
  const parts = items.filter(({ type }) => type === 'message').flatMap(({ content }) => objectsOf(content));
  const { usage } = response;
  return said({
    text: parts.map((part) => words(part.text) + words(part.refusal)).join(''),
    refused: parts.some(({ type }) => type === 'refusal'),
    tools: items.flatMap((item) => {
      if (item.type === 'function_call') return [{ name: words(item.name), arguments: spelt(item.arguments) }];
      if (item.type !== 'custom_tool_call') return [];
      return [{ name: words(item.name), arguments: words(item.input), custom: true as const }];
    }),
    finish: finishOfResponse(response),
    usage: isObject(usage) ? { input: count(usage.input_tokens), output: count(usage.output_tokens) } : null,
    thoughts: items
      .filter(({ type }) => type === 'reasoning')
      .map(thoughtOf)
      .join(''),
    media: items.filter(({ type }) => type === 'image_generation_call').length,
    citations: parts.reduce((sum, { annotations }) => sum + objectsOf(annotations).length, 0),
  });
}

/** Whether the pieces of a stream's text equal those of its last event: fixtures are often shortened by hand. */
export function isAbridged(events: readonly JsonObject[]): boolean {
  const pieces = events.map(({ type, delta }) => (type === 'response.output_text.delta' ? words(delta) : '')).join('');
  const whole = objectsOf(foldResponse(events).output)
    .flatMap(({ type, content }) => (type === 'message' ? objectsOf(content) : []))
    .map(({ text }) => words(text));
  return pieces !== whole.join('');
}

/** The response that a stream's last event holds, with the items that ended before it where it holds none. */
export function foldResponse(events: readonly JsonObject[]): JsonObject {
  const last = events.findLast(({ response, type }) => isObject(response) && type !== 'response.queued');
  const response = { ...(last?.response as JsonObject | undefined) };
  if (objectsOf(response.output).length === 0) {
    response.output = events.flatMap(({ type, item }) =>
      type === 'response.output_item.done' ? [item as JsonObject] : [],
    );
  }
  return response;
}

function thoughtOf(item: JsonObject): string {
  const summary = objectsOf(item.summary).map(({ text }) => words(text));
  const own = objectsOf(item.content).map(({ text }) => words(text));
  return own.join('') || summary.join('');
}

function finishOfResponse({ status, incomplete_details: why }: JsonObject): Finish {
  // `complete`: proxies that imitate it.
  if (status === 'completed' || status === 'complete') return 'stop';
  if (status === 'incomplete') return finishOf(incomplete, isObject(why) ? why.reason : undefined);
  return typeof status === 'string' ? `other: ${status}` : 'none';
}
