import type { JsonObject } from '../../../kernel/json.ts';
import type { AnswerHead, StreamEncoder } from '../dialect.ts';
import { type BlockSink, createAnswerBlocks, type OpenedBlock } from './answer-blocks.ts';
import { citationOf } from './citation.ts';
import { wishesOf } from './read-request.ts';
import { wireStopReason } from './stop-reason.ts';
import { startUsage, wireUsage } from './usage.ts';

/**
 * Events as Anthropic's stream. Every event is named and every block is closed, since clients lose the answer without
 * either (clients.md §1); `message_stop` follows only `end`: after `failed` the caller of this writes the error frame.
 */
export function encodeStream(head: AnswerHead): StreamEncoder {
  const wishes = wishesOf(head);
  let out = '';
  let index = -1;

  function delta(text: string): void {
    out += `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":${text}}\n\n`;
  }

  const sink: BlockSink = {
    start(id, model) {
      const message = {
        id: id ?? head.fallbackId,
        type: 'message',
        role: 'assistant',
        model: model ?? head.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: startUsage(wishes.inputTokens),
      };
      out += frame('message_start', { type: 'message_start', message }) + frame('ping', { type: 'ping' });
    },
    open(block) {
      index++;
      out += frame('content_block_start', {
        type: 'content_block_start',
        index,
        content_block: emptyBlock(block),
      });
    },
    text: (text) => delta(`{"type":"text_delta","text":${JSON.stringify(text)}}`),
    thinking: (text) => delta(`{"type":"thinking_delta","thinking":${JSON.stringify(text)}}`),
    signature: (signature) => delta(`{"type":"signature_delta","signature":${JSON.stringify(signature)}}`),
    inputJson: (json) => delta(`{"type":"input_json_delta","partial_json":${JSON.stringify(json)}}`),
    citation(citation) {
      const wire = citationOf(citation);
      if (wire !== null) delta(`{"type":"citations_delta","citation":${JSON.stringify(wire)}}`);
    },
    close() {
      out += `event: content_block_stop\ndata: {"type":"content_block_stop","index":${index}}\n\n`;
    },
    end(reason, stopSequence, usage) {
      const stopped = { stop_reason: wireStopReason(reason), stop_sequence: stopSequence };
      const counted = usage === null ? startUsage(wishes.inputTokens) : wireUsage(usage);
      out += frame('message_delta', { type: 'message_delta', delta: stopped, usage: counted });
      out += frame('message_stop', { type: 'message_stop' });
    },
  };
  const add = createAnswerBlocks(wishes.thoughts, sink);
  return {
    step(event) {
      out = '';
      add(event);
      return out;
    },
  };
}

function frame(name: string, data: JsonObject): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A block as it is opened, its members there and empty: clients add the deltas to them. */
export function emptyBlock(block: OpenedBlock): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: '' };
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: block.data };
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, input: {} };
  }
}
