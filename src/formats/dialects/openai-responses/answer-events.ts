import type { JsonObject } from '../../../kernel/json.ts';
import { customInput } from '../arguments-text.ts';
import {
  type CallItem,
  type ItemStatus,
  type MessageItem,
  type MessagePart,
  type OutputItem,
  type ThoughtItem,
  wireItem,
  wirePart,
} from './response-object.ts';

/** One event of the wire; `members` is JSON without its braces, with a comma before it. */
export function frameOf(type: string, sequence: number, members: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence}${members}}\n\n`;
}

/** The events of a streamed Response, a method for each thing that happens to an answer, in the order of the calls. */
export class AnswerEvents {
  sequence = 0;
  #frames = '';

  /** The frames since the last call. */
  take(): string {
    const frames = this.#frames;
    this.#frames = '';
    return frames;
  }

  begun(response: JsonObject): void {
    const members = `,"response":${JSON.stringify(response)}`;
    this.#add('response.created', members);
    this.#add('response.in_progress', members);
  }

  ended(status: string, response: JsonObject): void {
    this.#add(`response.${status}`, `,"response":${JSON.stringify(response)}`);
  }

  itemAdded(item: OutputItem): void {
    this.#item('response.output_item.added', item, 'in_progress');
  }

  itemDone(item: OutputItem, status: ItemStatus): void {
    this.#item('response.output_item.done', item, status);
  }

  partAdded(item: MessageItem, part: MessagePart): void {
    this.#add('response.content_part.added', `${partAt(item)},"part":${JSON.stringify(wirePart(part))}`);
  }

  textDelta(item: MessageItem, kind: MessagePart['kind'], text: string): void {
    const delta = `${partAt(item)},"delta":${JSON.stringify(text)}`;
    if (kind === 'text') this.#add('response.output_text.delta', `${delta},"logprobs":[]`);
    else this.#add('response.refusal.delta', delta);
  }

  annotationAdded(item: MessageItem, index: number, annotation: JsonObject): void {
    const members = `,"annotation_index":${index},"annotation":${JSON.stringify(annotation)}`;
    this.#add('response.output_text.annotation.added', partAt(item) + members);
  }

  partDone(item: MessageItem, part: MessagePart): void {
    const at = partAt(item);
    const text = JSON.stringify(part.text);
    if (part.kind === 'text') {
      this.#add('response.output_text.done', `${at},"text":${text},"logprobs":${JSON.stringify(part.logprobs)}`);
    } else this.#add('response.refusal.done', `${at},"refusal":${text}`);
    this.#add('response.content_part.done', `${at},"part":${JSON.stringify(wirePart(part))}`);
  }

  summaryAdded(item: ThoughtItem): void {
    this.#add('response.reasoning_summary_part.added', `${summaryAt(item)},"part":{"type":"summary_text","text":""}`);
  }

  summaryDelta(item: ThoughtItem, text: string): void {
    this.#add('response.reasoning_summary_text.delta', `${summaryAt(item)},"delta":${JSON.stringify(text)}`);
  }

  summaryDone(item: ThoughtItem, summary: string): void {
    const at = summaryAt(item);
    const text = JSON.stringify(summary);
    this.#add('response.reasoning_summary_text.done', `${at},"text":${text}`);
    this.#add('response.reasoning_summary_part.done', `${at},"part":{"type":"summary_text","text":${text}}`);
  }

  argumentsDelta(item: CallItem, argumentsJson: string): void {
    this.#add('response.function_call_arguments.delta', `${itemAt(item)},"delta":${JSON.stringify(argumentsJson)}`);
  }

  /** Sends the text of a custom tool in one piece: it is known only when the string that holds it is whole. */
  callDone(item: CallItem): void {
    // All of it comes with the end of the item.
    if (item.kind === 'search' || item.kind === 'client') return;
    const at = itemAt(item);
    if (item.kind === 'function') {
      const members = `${at},"name":${JSON.stringify(item.name)},"arguments":${JSON.stringify(item.argumentsJson)}`;
      this.#add('response.function_call_arguments.done', members);
      return;
    }
    const input = JSON.stringify(customInput(item.argumentsJson));
    if (input !== '""') this.#add('response.custom_tool_call_input.delta', `${at},"delta":${input}`);
    this.#add('response.custom_tool_call_input.done', `${at},"input":${input}`);
  }

  /** The steps of a picture that is there already. */
  drawn(item: OutputItem): void {
    for (const step of ['in_progress', 'generating', 'completed']) this.step(`image_generation_call.${step}`, item);
  }

  /** `name` as in `web_search_call.searching`. */
  step(name: string, item: OutputItem): void {
    this.#add(`response.${name}`, itemAt(item));
  }

  /** The arguments of a call of an MCP server, known at once. */
  mcpArguments(item: OutputItem, argumentsJson: string): void {
    const text = JSON.stringify(argumentsJson);
    this.#add('response.mcp_call_arguments.delta', `${itemAt(item)},"delta":${text}`);
    this.#add('response.mcp_call_arguments.done', `${itemAt(item)},"arguments":${text}`);
  }

  #item(type: string, item: OutputItem, status: ItemStatus): void {
    this.#add(type, `,"output_index":${item.index},"item":${JSON.stringify(wireItem(item, status))}`);
  }

  #add(type: string, members: string): void {
    this.#frames += frameOf(type, this.sequence, members);
    this.sequence += 1;
  }
}

function itemAt(item: OutputItem): string {
  return `,"item_id":"${item.id}","output_index":${item.index}`;
}

function partAt(item: MessageItem): string {
  return `${itemAt(item)},"content_index":${item.parts.length - 1}`;
}

function summaryAt(item: ThoughtItem): string {
  return `${itemAt(item)},"summary_index":0`;
}
