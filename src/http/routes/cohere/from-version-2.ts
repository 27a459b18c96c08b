import { toolInputOf } from '../../../formats/dialects/anthropic-messages/encode-messages.ts';
import { argumentsOrEmpty } from '../../../formats/dialects/arguments-text.ts';
import type { SseEvent, StreamWire } from '../../../formats/dialects/dialect.ts';
import { type JsonObject, type JsonValue, objectIn, objectsIn, parsedData, stringOr } from '../../../kernel/json.ts';
import { documentsOf, turnsOf, type Version1Form } from './to-version-2.ts';

/** An answer of `/v2/chat` as version 1 has it, with what it repeats of the caller's request. */
export function fromVersion2(form: Version1Form, answer: JsonObject, request: JsonObject): JsonObject {
  const { id, finish_reason: word, usage } = answer;
  const message = objectIn(answer.message);
  const text = objectsIn(message.content)
    .map((part) => stringOr(part.text, ''))
    .join('');
  const reason = { finish_reason: word === 'TOOL_CALL' ? 'COMPLETE' : (word ?? 'COMPLETE') };
  const meta = { meta: { api_version: { version: '1' }, ...objectIn(usage) } };
  if (form === 'generate')
    return { id, prompt: request.prompt, generations: [{ id, index: 0, text, ...reason }], ...meta };
  const words = text === '' ? stringOr(message.tool_plan, '') : text;
  const calls = objectsIn(message.tool_calls).map(callOf);
  const citations = objectsIn(message.citations);
  const turn = { role: 'CHATBOT', message: words, ...(calls.length > 0 && { tool_calls: calls }) };
  return {
    response_id: id,
    generation_id: id,
    text: words,
    chat_history: [...turnsOf(request), turn],
    ...reason,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(citations.length > 0 && {
      citations: citations.map(citationOf),
      documents: sourcesOf(citations, documentsOf(request)),
    }),
    ...meta,
  };
}

function callOf({ function: called }: JsonObject): JsonObject {
  const { name, arguments: json } = objectIn(called);
  return { name, parameters: toolInputOf(argumentsOrEmpty(stringOr(json, ''))).input };
}

function citationOf({ start, end, text, sources }: JsonObject): JsonObject {
  return { start, end, text, document_ids: objectsIn(sources).map(({ id }) => id ?? '') };
}

/** Documents that citations name, once each: as the caller sent them, or as the model found them. */
function sourcesOf(citations: readonly JsonObject[], given: readonly JsonObject[]): JsonObject[] {
  const found = new Map<unknown, JsonObject>();
  for (const { id, document, tool_output: output } of citations.flatMap(({ sources }) => objectsIn(sources)))
    found.set(id, given.find((one) => one.id === id) ?? { ...objectIn(document ?? output), id });
  return [...found.values()];
}

/** A stream of `/v2/chat` as version 1's lines of JSON: state of one stream. */
export function version1Wire(form: Version1Form, request: JsonObject): StreamWire {
  const lines = new Lines(form, request);
  return {
    type: 'application/stream+json',
    keepAlive: () => ' ',
    frameOf({ data }: SseEvent) {
      const event = parsedData(data);
      const texts = event === null ? [] : lines.next(event).map((line) => `${JSON.stringify(line)}\n`);
      return texts.length === 0 ? null : Buffer.from(texts.join(''));
    },
  };
}

class Lines {
  readonly #form: Version1Form;
  readonly #request: JsonObject;
  /** The message as far as it has come, as a whole answer has it. */
  readonly #message = { content: [{ text: '' }], tool_plan: '', citations: [] as JsonObject[] };
  readonly #calls: { name: string; arguments: string }[] = [];
  #id: JsonValue = null;

  constructor(form: Version1Form, request: JsonObject) {
    this.#form = form;
    this.#request = request;
  }

  next({ type, index = 0, id = null, delta }: JsonObject): JsonObject[] {
    const { message, ...end } = objectIn(delta);
    const { content, tool_plan: plan, tool_calls: called, citations } = objectIn(message);
    switch (type) {
      case 'message-start':
        this.#id = id;
        return this.#form === 'chat' ? [line('stream-start', { generation_id: id })] : [];
      case 'content-start':
      case 'content-delta': {
        const text = stringOr(objectIn(content).text, '');
        for (const block of this.#message.content) block.text += text;
        return text === '' ? [] : [line('text-generation', { text })];
      }
      case 'tool-plan-delta': {
        const text = stringOr(plan, '');
        this.#message.tool_plan += text;
        return [line('tool-calls-chunk', { text, tool_call_delta: { text } })];
      }
      case 'tool-call-start':
      case 'tool-call-delta':
        return [this.#call(type === 'tool-call-start', index, objectIn(objectIn(called).function))];
      case 'citation-start':
        this.#message.citations.push(objectIn(citations));
        return [line('citation-generation', { citations: [citationOf(objectIn(citations))] })];
      case 'message-end':
        return this.#end(end);
      default:
        return [];
    }
  }

  #call(isNew: boolean, index: JsonValue, { name, arguments: json }: JsonObject): JsonObject {
    const piece = stringOr(json, '');
    if (isNew) this.#calls.push({ name: stringOr(name, ''), arguments: piece });
    else for (const call of this.#calls.slice(-1)) call.arguments += piece;
    const shown = { index, ...(isNew && { name: stringOr(name, '') }), ...(piece !== '' && { parameters: piece }) };
    return line('tool-calls-chunk', { tool_call_delta: shown });
  }

  #end({ error, ...end }: JsonObject): JsonObject[] {
    const message = { ...this.#message, tool_calls: this.#calls.map((called) => ({ function: { ...called } })) };
    const response = fromVersion2(this.#form, { id: this.#id, message, ...end }, this.#request);
    const { text = '', tool_calls: calls, finish_reason: reason = end.finish_reason ?? null } = response;
    const made = calls === undefined ? [] : [line('tool-calls-generation', { text, tool_calls: calls })];
    return [...made, line('stream-end', { finish_reason: reason, ...(error !== undefined && { error }), response })];
  }
}

function line(event_type: string, members: JsonObject): JsonObject {
  return { is_finished: event_type === 'stream-end', event_type, ...members };
}
