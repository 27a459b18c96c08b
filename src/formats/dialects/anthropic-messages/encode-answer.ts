import { type JsonObject, type JsonValue, objectIn } from '../../../kernel/json.ts';
import type { FinishReason } from '../../neutral/event.ts';
import type { Usage } from '../../neutral/usage.ts';
import type { AnswerFold, AnswerHead, StreamEncoder } from '../dialect.ts';
import { createAnswerBlocks } from './answer-blocks.ts';
import { type BlockSink, type FilledBlock, filledBlocks, type OpenedBlock } from './block-sink.ts';
import { citationBlock } from './citations.ts';
import { toolInputOf } from './encode-messages.ts';
import { answerOptionsOf } from './read-request.ts';

/**
 * Events as Anthropic's stream. Every event is named and every block is closed, because clients lose the answer
 * otherwise (clients.md §1); `message_stop` follows only `end`: after `failed` the caller of this writes the error
 * frame.
 */
export function encodeStream(head: AnswerHead): StreamEncoder {
  const options = answerOptionsOf(head);
  let out = '';
  let index = -1;

  function delta(text: string): void {
    out += `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":${text}}\n\n`;
  }

  const sink: BlockSink = {
    start(id, model, usage) {
      const message = {
        id: id ?? head.fallbackId,
        type: 'message',
        role: 'assistant',
        model: model ?? head.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: usage === null ? startUsage(options.inputTokens) : wireUsage(usage),
      };
      out += frame('message_start', { type: 'message_start', message }) + frame('ping', { type: 'ping' });
    },
    open(block) {
      index++;
      out += frame('content_block_start', { type: 'content_block_start', index, content_block: emptyBlock(block) });
    },
    text: (text) => delta(`{"type":"text_delta","text":${JSON.stringify(text)}}`),
    thinking: (text) => delta(`{"type":"thinking_delta","thinking":${JSON.stringify(text)}}`),
    signature: (signature) => delta(`{"type":"signature_delta","signature":${JSON.stringify(signature)}}`),
    inputJson: (json) => delta(`{"type":"input_json_delta","partial_json":${JSON.stringify(json)}}`),
    citation: (citation) => delta(`{"type":"citations_delta","citation":${JSON.stringify(citationBlock(citation))}}`),
    lose(part) {
      encoder.lost ??= new Set();
      encoder.lost.add(part);
    },
    close() {
      out += `event: content_block_stop\ndata: {"type":"content_block_stop","index":${index}}\n\n`;
    },
    end(reason, stop_sequence, usage, { container, stop_details, usage: counts, ...members }) {
      const delta = { stop_reason: stopReasons[reason], stop_sequence, container, stop_details };
      const counted = usage === null ? startUsage(options.inputTokens) : { ...wireUsage(usage), ...objectIn(counts) };
      out += frame('message_delta', { type: 'message_delta', delta, usage: counted, ...members });
      out += frame('message_stop', { type: 'message_stop' });
    },
  };
  const add = createAnswerBlocks(options.thoughts, sink);
  const encoder: StreamEncoder & { lost: Set<string> | undefined } = {
    lost: undefined,
    step(event) {
      out = '';
      add(event);
      return out;
    },
  };
  return encoder;
}

/** Events as one whole message: what a client would put together from `encodeStream`'s frames. */
export function fold(head: AnswerHead): AnswerFold {
  const options = answerOptionsOf(head);
  const content: JsonValue[] = [];
  const lost = new Set<string>();
  const message: JsonObject = {
    id: head.fallbackId,
    type: 'message',
    role: 'assistant',
    model: head.model,
    content,
    stop_reason: null,
    stop_sequence: null,
    usage: startUsage(options.inputTokens),
  };
  const sink = filledBlocks((block) => content.push(filledBlock(block)), {
    start(id, model) {
      if (id !== null) message.id = id;
      if (model !== null) message.model = model;
    },
    lose: (part) => void lost.add(part),
    end(reason, stopSequence, usage, { usage: counts, ...members }) {
      Object.assign(message, members);
      message.stop_reason = stopReasons[reason];
      message.stop_sequence = stopSequence;
      if (usage !== null) message.usage = { ...wireUsage(usage), ...objectIn(counts) };
    },
  });
  return { lost, add: createAnswerBlocks(options.thoughts, sink), result: () => message };
}

/** An event of the stream, with its name. */
export function frame(name: string, data: JsonObject): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

function filledBlock({ opened, text, signature, citations }: FilledBlock): JsonObject {
  const block = emptyBlock(opened);
  if (opened.type === 'text') block.text = text;
  else if (opened.type === 'thinking') Object.assign(block, { thinking: text, signature });
  else if (opened.type === 'tool_use' && text !== '') block.input = toolInputOf(text).input;
  return citations.length === 0 ? block : { ...block, citations: citations.map(citationBlock) };
}

/** A block as it is opened, with empty members: clients add the deltas to them. */
function emptyBlock(block: OpenedBlock): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: '' };
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: block.data };
    case 'tool_use':
      return { type: block.as ?? 'tool_use', id: block.id, name: block.name, input: {}, ...block.beside };
    case 'whole':
      return block.block;
  }
}

/** Anthropic's `usage` object: the input without tokens read from or written to the cache. */
function wireUsage(usage: Usage): JsonObject {
  const read = usage.cachedInputTokens ?? 0;
  // Gateways in front of others tell the same tokens as read and as written; the three must come to the input.
  const written = Math.min(usage.cacheWriteTokens ?? 0, Math.max(0, usage.inputTokens - read));
  const wire: JsonObject = {
    input_tokens: Math.max(0, usage.inputTokens - read - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    output_tokens: usage.outputTokens,
  };
  const { webSearches, webFetches } = usage;
  if (webSearches !== undefined || webFetches !== undefined) {
    wire.server_tool_use = { web_search_requests: webSearches ?? 0, web_fetch_requests: webFetches ?? 0 };
  }
  if (usage.reasoningTokens !== undefined) wire.output_tokens_details = { thinking_tokens: usage.reasoningTokens };
  return wire;
}

/** Usage at the start of a stream, before any count: clients read both numbers there. */
function startUsage(inputTokensEstimate: number): JsonObject {
  return wireUsage({ inputTokens: inputTokensEstimate, outputTokens: 0 });
}

const stopReasons = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'context-full': 'model_context_window_exceeded',
  'tool-calls': 'tool_use',
  'content-filter': 'refusal',
  pause: 'pause_turn',
} as const satisfies Record<FinishReason, string>;
