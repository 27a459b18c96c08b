import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import type { AnswerFold, AnswerHead } from '../dialect.ts';
import { type BlockSink, createAnswerBlocks } from './answer-blocks.ts';
import { citationOf } from './citation.ts';
import { emptyBlock } from './encode-stream.ts';
import { wishesOf } from './read-request.ts';
import { wireStopReason } from './stop-reason.ts';
import { toolInputOf } from './tool-input.ts';
import { startUsage, wireUsage } from './usage.ts';

/** Events as one whole message: what a client would put together from `encodeStream`'s frames. */
export function fold(head: AnswerHead): AnswerFold {
  const wishes = wishesOf(head);
  const content: JsonValue[] = [];
  let block: JsonObject = {};
  let inputJson = '';
  const message: JsonObject = {
    id: head.fallbackId,
    type: 'message',
    role: 'assistant',
    model: head.model,
    content,
    stop_reason: null,
    stop_sequence: null,
    usage: startUsage(wishes.inputTokens),
  };
  const sink: BlockSink = {
    start(id, model) {
      if (id !== null) message.id = id;
      if (model !== null) message.model = model;
    },
    open(opened) {
      block = emptyBlock(opened);
      inputJson = '';
      content.push(block);
    },
    text(text) {
      block.text = (block.text as string) + text;
    },
    thinking(text) {
      block.thinking = (block.thinking as string) + text;
    },
    signature(signature) {
      block.signature = signature;
    },
    inputJson(json) {
      inputJson += json;
    },
    citation(citation) {
      const wire = citationOf(citation);
      if (wire !== null) block.citations = [...((block.citations as JsonValue[] | undefined) ?? []), wire];
    },
    close() {
      if (block.type === 'tool_use') block.input = toolInputOf(inputJson).input;
    },
    end(reason, stopSequence, usage) {
      message.stop_reason = wireStopReason(reason);
      message.stop_sequence = stopSequence;
      if (usage !== null) message.usage = wireUsage(usage);
    },
  };
  return { add: createAnswerBlocks(wishes.thoughts, sink), result: () => message };
}
