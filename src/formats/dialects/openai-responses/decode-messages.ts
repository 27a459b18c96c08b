import { isObject, type JsonObject, jsonText, stringOr } from '../../../kernel/json.ts';
import type { MediaSource, NeutralMessage, NeutralPart } from '../../neutral/request.ts';
import { deniedText } from '../../neutral/server-tool.ts';
import { argumentsOrEmpty } from '../arguments-text.ts';
import { cacheOf, fileSource, mediaSource } from '../openai-chat/decode-messages.ts';
import { clientPart } from './client-tools.ts';
import { flatName, foundText, searchCall } from './offered-tools.ts';
import { unpackThought } from './packed-thought.ts';
import { type ContentPart, type InputFile, type InputItem, isGatewayStep, openAiResponsesId } from './wire.ts';

/** Messages, and for each the index of the input item that it began with (-1: `instructions`, or a text input). */
export interface DecodedInput {
  messages: NeutralMessage[];
  origins: number[];
}

type Turn = NeutralMessage & { parts: NeutralPart[] };

/**
 * Checked input as messages. Items of the assistant that follow one another (thoughts, text, calls) are one turn, as
 * every other dialect has them; all else stays one message an item.
 */
export function decodeInput(instructions: string | null, input: string | readonly InputItem[]): DecodedInput {
  const messages: NeutralMessage[] = [];
  const origins: number[] = [];
  if (instructions !== null && instructions !== '') {
    messages.push({ role: 'system', parts: [{ type: 'text', text: instructions }] });
    origins.push(-1);
  }
  if (typeof input === 'string') {
    messages.push({ role: 'user', parts: [{ type: 'text', text: input }] });
    origins.push(-1);
    return { messages, origins };
  }
  let turn: Turn | null = null;
  /** A proof on the call which follows. */
  let proof: { signature: string; vendor: string } | null = null;
  input.forEach((item, index) => {
    const thought = item.type === 'reasoning' && item.encrypted_content ? unpackThought(item.encrypted_content) : null;
    if (thought?.kind === 'call') {
      proof = { signature: thought.proof, vendor: thought.vendor };
      return;
    }
    if (item.type === 'additional_tools' || item.type === 'configuration_update') return;
    const ran = isGatewayStep(item)
      ? (mcpMessages(item) ?? foundMessages(item) ?? deniedMessages(item, input, index))
      : null;
    if (ran !== null) {
      messages.push(...ran);
      origins.push(index, index);
      turn = null;
      return;
    }
    const parts = assistantParts(item);
    if (parts === null) {
      messages.push(otherMessage(item));
      origins.push(index);
      turn = null;
      return;
    }
    if (turn === null) {
      turn = { role: 'assistant', parts: [] };
      messages.push(turn);
      origins.push(index);
    }
    for (const part of parts) {
      turn.parts.push(part.type === 'tool-call' && proof !== null ? { ...part, ...proof } : part);
      if (part.type === 'tool-call') proof = null;
    }
  });
  return { messages, origins };
}

/** The item's part of the assistant's turn; null when it has none. */
function assistantParts(item: InputItem): NeutralPart[] | null {
  switch (item.type) {
    case 'function_call':
      return [callPart(item, argumentsOrEmpty(item.arguments))];
    case 'custom_tool_call':
      return [{ ...callPart(item, JSON.stringify({ input: item.input })), custom: true }];
    case 'tool_search_call':
      // One that the provider ran has no id that an output names.
      return typeof item.call_id === 'string' ? [{ type: 'tool-call', ...searchCall(item) }] : [vendorPart(item)];
    case 'reasoning':
      return thought(item);
    case 'message':
    case undefined:
    case null:
      if (item.role === 'assistant') return contentParts(item.content ?? []).filter(hasContent);
      return item.role === undefined ? [vendorPart(item)] : null;
    case 'function_call_output':
    case 'custom_tool_call_output':
      return null;
    case 'tool_search_output':
      return typeof item.call_id === 'string' ? null : [vendorPart(item)];
    case 'image_generation_call':
      return typeof item.result === 'string' && item.result !== '' ? [drawn(item, item.result)] : [vendorPart(item)];
    // Calls of the provider's tools stay where the assistant made them; so do references. Results of tools that this
    // gateway ran are in the words of the answer.
    default: {
      const part = clientPart(item);
      if (part !== null) return part.type === 'tool-call' ? [part] : null;
      return isGatewayStep(item) ? [] : [vendorPart(item)];
    }
  }
}

function callPart(item: InputItem & { call_id: string; name: string }, argumentsJson: string) {
  return { type: 'tool-call' as const, id: item.call_id, name: flatName(item.name, item.namespace), argumentsJson };
}

/** A call that this gateway made of an MCP server, with its result; null for other items. */
function mcpMessages(item: InputItem): NeutralMessage[] | null {
  if (item.type !== 'mcp_call' || typeof item.name !== 'string') return null;
  const isError = typeof item.error === 'string';
  const text = typeof item.output === 'string' ? item.output : stringOr(item.error, '');
  const name = `${stringOr(item.server_label, '')}__${item.name}`;
  return callAndResult(
    { id: stringOr(item.id, ''), name, argumentsJson: stringOr(item.arguments, '').trim() || '{}' },
    text,
    isError,
  );
}

/** A call that the caller denied before the model said more: the tools of this turn tell of later ones. Null for other items. */
function deniedMessages(
  { type, approve, approval_request_id: id }: InputItem,
  input: readonly InputItem[],
  index: number,
): NeutralMessage[] | null {
  if (type !== 'mcp_approval_response' || approve === true || !input.slice(index).some(isModels)) return null;
  const question = input.find((one) => one.type === 'mcp_approval_request' && one.id === id);
  return question === undefined ? null : mcpMessages({ ...question, type: 'mcp_call', error: deniedText });
}

/** Whether the model has said or called something. */
export function isModels({ type, role }: InputItem): boolean {
  return role === 'assistant' || (typeof type === 'string' && /_call$|^reasoning$/.test(type));
}

/** A search of files that this gateway made, with the passages that it found; null for other items. */
function foundMessages(item: InputItem): NeutralMessage[] | null {
  const { type, results, queries } = item as JsonObject;
  // Items have passages where the request for them had asked so.
  if (type !== 'file_search_call' || !Array.isArray(results)) return null;
  const passages = results.flatMap((one) =>
    isObject(one) && typeof one.text === 'string' ? [`${stringOr(one.filename, '')}\n${one.text}`.trim()] : [],
  );
  if (passages.length === 0) return null;
  const query = Array.isArray(queries) ? queries.filter((one) => typeof one === 'string').join(' ') : '';
  const call = { id: stringOr(item.id, ''), name: 'file_search', argumentsJson: JSON.stringify({ query }) };
  return callAndResult(call, passages.join('\n\n'), false);
}

function callAndResult(
  call: { id: string; name: string; argumentsJson: string },
  text: string,
  isError: boolean,
): NeutralMessage[] {
  return [
    { role: 'assistant', parts: [{ type: 'tool-call', ...call }] },
    { role: 'tool', parts: [{ type: 'tool-result', callId: call.id, parts: [{ type: 'text', text }], isError }] },
  ];
}

/** An empty text says nothing, and other formats refuse it. */
function hasContent(part: NeutralPart): boolean {
  return part.type !== 'text' || part.text !== '';
}

function vendorPart(item: InputItem): NeutralPart {
  return { type: 'vendor', vendor: openAiResponsesId, block: item };
}

function drawn({ output_format: format }: InputItem, base64: string): NeutralPart {
  const mediaType = `image/${typeof format === 'string' && format !== '' ? format : 'png'}`;
  return { type: 'image', source: { kind: 'base64', mediaType, base64 } };
}

function thought(item: InputItem): NeutralPart[] {
  const text = textOf(item.summary) || textOf(item.content);
  const encrypted = item.encrypted_content ?? '';
  if (encrypted === '') return text === '' ? [] : [{ type: 'reasoning', text }];
  const other = unpackThought(encrypted);
  if (other === null) return [{ type: 'reasoning', text, signature: encrypted, vendor: openAiResponsesId }];
  if (other.kind === 'redacted') return [{ type: 'redacted-reasoning', data: other.proof, vendor: other.vendor }];
  return [{ type: 'reasoning', text, signature: other.proof, vendor: other.vendor }];
}

export function textOf(parts: unknown): string {
  if (!Array.isArray(parts)) return '';
  return parts.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('\n\n');
}

function otherMessage(item: InputItem): NeutralMessage {
  if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') {
    const parts = contentParts(item.output);
    return { role: 'tool', parts: [{ type: 'tool-result', callId: item.call_id, parts, isError: false }] };
  }
  if (item.type === 'tool_search_output') {
    const parts: NeutralPart[] = [{ type: 'text', text: foundText(item) }];
    return { role: 'tool', parts: [{ type: 'tool-result', callId: jsonText(item.call_id), parts, isError: false }] };
  }
  const result = item.type === 'message' ? null : clientPart(item);
  if (result !== null) return { role: 'tool', parts: [result] };
  // Many servers of other formats do not know `developer`, which Codex sends always; OpenAI takes the two for the same.
  const role = item.role === 'developer' ? 'system' : (item.role ?? 'user');
  return { role, parts: contentParts(item.content ?? []) };
}

function contentParts(content: string | readonly ContentPart[]): NeutralPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content.map(decodePart);
}

function decodePart(part: ContentPart): NeutralPart {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: part.text, ...cacheOf(part) };
    case 'refusal':
      return { type: 'refusal', text: part.refusal };
    case 'input_image': {
      const { image_url: url, file_id: fileId } = part;
      const source: MediaSource = url ? mediaSource(url) : { kind: 'file-id', fileId: fileId ?? '' };
      // `auto` is what leaving it out means.
      return {
        type: 'image',
        source,
        ...(part.detail && part.detail !== 'auto' && { detail: part.detail }),
        ...cacheOf(part),
      };
    }
    case 'input_file':
      return {
        type: 'document',
        source: sourceOf(part),
        ...(part.filename && { name: part.filename }),
        ...cacheOf(part),
      };
    case 'input_audio':
      return { type: 'audio', format: part.input_audio.format, base64: part.input_audio.data };
    default:
      return { type: 'vendor', vendor: openAiResponsesId, block: part as JsonObject };
  }
}

function sourceOf({ file_data: data, file_url: url, file_id: id }: InputFile): MediaSource {
  if (data) return fileSource(data);
  return url ? { kind: 'url', url } : { kind: 'file-id', fileId: id ?? '' };
}
