import { isObject, type JsonObject, jsonText, objectIn } from '../../../kernel/json.ts';
import type { Citation } from '../../neutral/citation.ts';
import type { FinishReason } from '../../neutral/event.ts';
import type { Usage } from '../../neutral/usage.ts';
import { createAnswerBlocks } from '../anthropic-messages/answer-blocks.ts';
import { type BlockSink, type FilledBlock, filledBlocks, type OpenedBlock } from '../anthropic-messages/block-sink.ts';
import { frame } from '../anthropic-messages/encode-answer.ts';
import { toolInputOf } from '../anthropic-messages/encode-messages.ts';
import type { AnswerFold, AnswerHead, StreamEncoder } from '../dialect.ts';
import { vendor } from './wire.ts';

const stopReasons = {
  stop: 'end_turn',
  pause: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'context-full': 'model_context_window_exceeded',
  'tool-calls': 'tool_use',
  'content-filter': 'content_filtered',
} as const satisfies Record<FinishReason, string>;

/**
 * Events as those of ConverseStream, written as server-sent events: `event-frames` makes AWS's frames of them. After
 * `failed` the caller of this writes the exception.
 */
export function encodeStream(head: AnswerHead): StreamEncoder {
  const lost = new Set<string>();
  let out = '';
  let index = -1;

  function delta(json: string): void {
    out += `event: contentBlockDelta\ndata: {"contentBlockIndex":${index},"delta":${json}}\n\n`;
  }
  const sink: BlockSink = {
    start() {
      out += frame('messageStart', { role: 'assistant' });
    },
    open(block) {
      index++;
      const { start, whole } = openingOf(block, lost);
      if (start !== null) out += frame('contentBlockStart', { contentBlockIndex: index, start });
      if (whole !== null) delta(JSON.stringify(whole));
    },
    text: (text) => delta(`{"text":${JSON.stringify(text)}}`),
    thinking: (text) => delta(`{"reasoningContent":{"text":${JSON.stringify(text)}}}`),
    signature(signature) {
      if (signature !== '') delta(`{"reasoningContent":{"signature":${JSON.stringify(signature)}}}`);
    },
    inputJson: (json) => delta(`{"toolUse":{"input":${JSON.stringify(json)}}}`),
    citation: (citation) => delta(JSON.stringify({ citation: citationOf(citation) })),
    lose: (part) => void lost.add(part),
    close() {
      out += `event: contentBlockStop\ndata: {"contentBlockIndex":${index}}\n\n`;
    },
    end(reason, stopSequence, usage, members) {
      out += frame('messageStop', stopOf(reason, stopSequence, head, members));
      out += frame('metadata', countsOf(usage, head, members));
    },
  };
  const add = createAnswerBlocks('shown', sink, vendor);
  return {
    lost,
    step(event) {
      out = '';
      add(event);
      return out;
    },
  };
}

/** Events as one whole answer of Converse: what a client would put together from the stream. */
export function fold(head: AnswerHead): AnswerFold {
  const lost = new Set<string>();
  const content: JsonObject[] = [];
  let end: JsonObject = {};

  const give = (filled: FilledBlock) => {
    const block = wholeBlock(filled, lost);
    if (block !== null) content.push(block);
  };
  const sink = filledBlocks(give, {
    start() {},
    lose: (part) => void lost.add(part),
    end(reason, stopSequence, usage, members) {
      end = { ...stopOf(reason, stopSequence, head, members), ...countsOf(usage, head, members) };
    },
  });
  return {
    lost,
    add: createAnswerBlocks('shown', sink, vendor),
    result: () => ({ output: { message: { role: 'assistant', content } }, ...end }),
  };
}

function wholeBlock({ opened, text, signature, citations }: FilledBlock, lost: Set<string>): JsonObject | null {
  switch (opened.type) {
    case 'text':
      if (citations.length === 0) return { text };
      return { citationsContent: { content: [{ text }], citations: citations.map(citationOf) } };
    case 'thinking':
      return { reasoningContent: { reasoningText: { text, ...(signature !== '' && { signature }) } } };
    case 'redacted_thinking':
      return { reasoningContent: { redactedContent: blobOf(opened.data) } };
    case 'tool_use':
      return { toolUse: { toolUseId: opened.id, name: opened.name, input: toolInputOf(text || '{}').input } };
    case 'whole': {
      if (!('source' in opened.block)) return opened.block;
      const image = imageOf(opened.block, lost);
      return image === null ? null : { image };
    }
  }
}

/** A block's start, where the format has one, and what comes at once. */
function openingOf(block: OpenedBlock, lost: Set<string>): { start: JsonObject | null; whole: JsonObject | null } {
  switch (block.type) {
    case 'tool_use':
      return { start: { toolUse: { toolUseId: block.id, name: block.name } }, whole: null };
    case 'redacted_thinking':
      return { start: null, whole: { reasoningContent: { redactedContent: blobOf(block.data) } } };
    case 'whole': {
      if (!('source' in block.block)) return hostedOpening(block.block, lost);
      const image = imageOf(block.block, lost);
      return image === null
        ? { start: null, whole: null }
        : { start: { image: { format: image.format } }, whole: { image: { source: image.source } } };
    }
    default:
      return { start: null, whole: null };
  }
}

/** A call of a tool that Bedrock runs, or its result; streams have no form for other blocks. */
function hostedOpening(block: JsonObject, lost: Set<string>): { start: JsonObject | null; whole: JsonObject | null } {
  const { toolUse, toolResult } = block;
  const { input = {}, content = [], ...start } = objectIn(toolUse ?? toolResult);
  if (isObject(toolUse)) return { start: { toolUse: start }, whole: { toolUse: { input: JSON.stringify(input) } } };
  if (isObject(toolResult)) return { start: { toolResult: start }, whole: { toolResult: content } };
  for (const name of Object.keys(block)) lost.add(name);
  return { start: null, whole: null };
}

/** Text of a sealed thought in base64: AWS's clients take a redacted thought for base64, which a seal is not. */
function blobOf(data: string): string {
  return data.startsWith('culvert.') ? Buffer.from(data).toString('base64') : data;
}

/** A picture that came as an address has no place here. */
function imageOf({ source }: JsonObject, lost: Set<string>): { format: string; source: JsonObject } | null {
  if (isObject(source) && source.type === 'base64') {
    return { format: jsonText(source.media_type).replace('image/', ''), source: { bytes: source.data } };
  }
  lost.add('image');
  return null;
}

function citationOf({ url, title, quote, document, vendorPart }: Citation): JsonObject {
  if (vendorPart?.vendor === vendor) return vendorPart.block;
  const location = url !== null ? { web: { url } } : { documentChar: { documentIndex: document ?? 0 } };
  return {
    ...(title !== '' && { title }),
    ...(url !== null && { source: url }),
    ...(quote !== '' && { sourceContent: [{ text: quote }] }),
    location,
  };
}

function stopOf(reason: FinishReason, stopSequence: string | null, head: AnswerHead, members: JsonObject): JsonObject {
  const showsSequence = head.echo?.stopSequence === true && stopSequence !== null;
  const { additionalModelResponseFields: fields = showsSequence ? { stop_sequence: stopSequence } : undefined } =
    members;
  return { stopReason: stopReasons[reason], ...(fields !== undefined && { additionalModelResponseFields: fields }) };
}

/** Bedrock counts cached input apart from `inputTokens`, the neutral form inside of it. */
function countsOf(usage: Usage | null, { elapsedMs }: AnswerHead, members: JsonObject): JsonObject {
  const { inputTokens = 0, outputTokens = 0, cachedInputTokens: read, cacheWriteTokens } = usage ?? {};
  const written = Math.min(cacheWriteTokens ?? 0, Math.max(0, inputTokens - (read ?? 0)));
  return {
    usage: {
      inputTokens: Math.max(0, inputTokens - (read ?? 0) - written),
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      ...(read !== undefined && { cacheReadInputTokens: read }),
      ...(cacheWriteTokens !== undefined && { cacheWriteInputTokens: written }),
    },
    metrics: { latencyMs: Math.round(elapsedMs?.() ?? 0) },
    ...objectIn(members.usage),
    ...(members.trace !== undefined && { trace: members.trace }),
  };
}
