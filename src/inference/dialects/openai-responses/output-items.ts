import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';

/** The items of an answer while it is made. `index` is the place in `output`. */
export type OutputItem = MessageItem | ThoughtItem | CallItem;

export interface MessageItem {
  kind: 'message';
  id: string;
  index: number;
  parts: MessagePart[];
  /** Whether the last part may still grow. */
  partOpen: boolean;
}

export interface MessagePart {
  kind: 'text' | 'refusal';
  text: string;
  annotations: JsonObject[];
  logprobs: JsonValue[];
}

export interface ThoughtItem {
  kind: 'thought';
  id: string;
  index: number;
  /** Null until the first of its text: a thought may have nothing to show. */
  text: string | null;
  encrypted: string | null;
}

export interface CallItem {
  kind: 'function' | 'custom';
  id: string;
  index: number;
  callId: string;
  name: string;
  /** As JSON; of a custom tool too, until it is unwrapped. */
  argumentsJson: string;
  open: boolean;
}

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** The item as the wire has it, with what it holds so far. */
export function wireItem(item: OutputItem, status: ItemStatus): JsonObject {
  switch (item.kind) {
    case 'message':
      return {
        id: item.id,
        type: 'message',
        status,
        role: 'assistant',
        content: item.parts.map(wirePart),
      };
    case 'thought':
      return {
        id: item.id,
        type: 'reasoning',
        summary: item.text === null || item.text === '' ? [] : [{ type: 'summary_text', text: item.text }],
        ...(item.encrypted !== null && { encrypted_content: item.encrypted }),
      };
    case 'function':
      return {
        id: item.id,
        type: 'function_call',
        status,
        arguments: status === 'in_progress' ? '' : item.argumentsJson,
        call_id: item.callId,
        name: item.name,
      };
    case 'custom':
      return {
        id: item.id,
        type: 'custom_tool_call',
        status,
        call_id: item.callId,
        name: item.name,
        input: status === 'in_progress' ? '' : customInput(item.argumentsJson),
      };
  }
}

export function wirePart(part: MessagePart): JsonObject {
  return part.kind === 'refusal'
    ? { type: 'refusal', refusal: part.text }
    : { type: 'output_text', text: part.text, annotations: part.annotations, logprobs: part.logprobs };
}

/**
 * The text for a custom tool out of the arguments of the function that stood in for it. Models do not always keep to
 * the schema: another lone string member is taken for the text, and anything else goes as it was written.
 */
export function customInput(argumentsJson: string): string {
  let value: unknown;
  try {
    value = JSON.parse(argumentsJson);
  } catch {
    return argumentsJson;
  }
  if (typeof value === 'string') return value;
  if (!isObject(value)) return argumentsJson;
  if (typeof value.input === 'string') return value.input;
  const members = Object.values(value);
  if (members.length === 0) return '';
  return members.length === 1 && typeof members[0] === 'string' ? members[0] : argumentsJson;
}
