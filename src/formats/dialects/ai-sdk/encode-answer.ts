import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { Citation } from '../../neutral/citation.ts';
import type { FinishReason } from '../../neutral/event.ts';
import type { Usage } from '../../neutral/usage.ts';
import { createAnswerBlocks } from '../anthropic-messages/answer-blocks.ts';
import { type BlockSink, type FilledBlock, filledBlocks, type OpenedBlock } from '../anthropic-messages/block-sink.ts';
import type { AnswerFold, AnswerHead, StreamEncoder } from '../dialect.ts';
import { ours, type Version, vendor } from './wire.ts';

const finishReasons = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'context-full': 'length',
  'tool-calls': 'tool-calls',
  'content-filter': 'content-filter',
  pause: 'other',
} as const satisfies Record<FinishReason, string>;

/** Parts of the AI SDK's stream, each a server-sent event. After `failed` the caller of this writes the error. */
export function encodeStream(head: AnswerHead): StreamEncoder {
  const lost = new Set<string>();
  let out = '';
  let id = '';
  let block: OpenedBlock = { type: 'text' };
  let blocks = 0;
  let sources = 0;
  let inputJson = '';
  let metadata: JsonObject = {};

  const writePart = (part: JsonObject) => {
    out += frameOf(part);
  };
  function delta(type: string, text: string): void {
    out += `data: {"type":"${type}","id":${JSON.stringify(id)},"delta":${JSON.stringify(text)}}\n\n`;
  }
  const sink: BlockSink = {
    start(answerId, model) {
      writePart({ type: 'stream-start', warnings: [] });
      writePart({ type: 'response-metadata', ...identityOf(answerId, model, head) });
    },
    open(opened) {
      block = opened;
      id = opened.type === 'tool_use' ? opened.id : String(blocks++);
      inputJson = '';
      metadata = {};
      if (opened.type === 'text') writePart({ type: 'text-start', id });
      else if (opened.type === 'thinking') writePart({ type: 'reasoning-start', id });
      else if (opened.type === 'tool_use') writePart({ type: 'tool-input-start', id, toolName: opened.name });
      else if (opened.type === 'redacted_thinking') {
        metadata = { providerMetadata: { [ours]: { redacted: opened.data } } };
        writePart({ type: 'reasoning-start', id, ...metadata });
      } else for (const file of filesIn(opened.block, head, lost)) writePart(file);
    },
    text: (text) => delta('text-delta', text),
    thinking: (text) => delta('reasoning-delta', text),
    signature(signature) {
      if (signature !== '') metadata = { providerMetadata: { [ours]: { signature } } };
    },
    inputJson(json) {
      inputJson += json;
      delta('tool-input-delta', json);
    },
    citation: (citation) => writePart(sourceOf(citation, sources++)),
    lose: (part) => void lost.add(part),
    close() {
      if (block.type === 'text') writePart({ type: 'text-end', id });
      else if (block.type === 'thinking' || block.type === 'redacted_thinking') {
        writePart({ type: 'reasoning-end', id, ...metadata });
      } else if (block.type === 'tool_use') {
        writePart({ type: 'tool-input-end', id });
        writePart({ type: 'tool-call', toolCallId: id, toolName: block.name, input: inputJson || '{}' });
      }
    },
    end(reason, stopSequence, usage) {
      out += `${frameOf({ type: 'finish', ...endOf(reason, stopSequence, usage, head) })}data: [DONE]\n\n`;
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

/** Answer of `doGenerate`: the parts of the stream, put together. */
export function fold(head: AnswerHead): AnswerFold {
  const lost = new Set<string>();
  const content: JsonObject[] = [];
  let identity = identityOf(null, null, head);
  let end: JsonObject = {};
  const give = (block: FilledBlock) => {
    for (const citation of block.citations) content.push(sourceOf(citation, content.length));
    content.push(...partsOf(block));
  };
  const sink = filledBlocks(give, {
    start(id, model) {
      identity = identityOf(id, model, head);
    },
    lose: (part) => void lost.add(part),
    end(reason, stopSequence, usage) {
      end = endOf(reason, stopSequence, usage, head);
    },
  });

  function partsOf({ opened, text, signature }: FilledBlock): JsonObject[] {
    switch (opened.type) {
      case 'text':
        return text === '' ? [] : [{ type: 'text', text }];
      case 'thinking':
        return [{ type: 'reasoning', text, ...(signature !== '' && { providerMetadata: { [ours]: { signature } } }) }];
      case 'redacted_thinking':
        return [{ type: 'reasoning', text: '', providerMetadata: { [ours]: { redacted: opened.data } } }];
      case 'tool_use':
        return [{ type: 'tool-call', toolCallId: opened.id, toolName: opened.name, input: text || '{}' }];
      case 'whole':
        return filesIn(opened.block, head, lost);
    }
  }
  return {
    lost,
    add: createAnswerBlocks('shown', sink, vendor),
    result: () => ({ content, ...end, warnings: [], response: identity }),
  };
}

function identityOf(id: string | null, model: string | null, head: AnswerHead): JsonObject {
  return {
    id: id ?? head.fallbackId,
    modelId: model ?? head.model,
    timestamp: new Date(head.createdS * 1_000).toISOString(),
  };
}

function versionIn({ echo }: AnswerHead): Version {
  return echo?.version === 2 ? 2 : echo?.version === 3 ? 3 : 4;
}

/** A picture; one that came as an address has a place from version 4 on. */
function filesIn({ source }: JsonObject, head: AnswerHead, lost: Set<string>): JsonObject[] {
  if (!isObject(source)) return [];
  const isBytes = source.type === 'base64';
  if (versionIn(head) === 4) {
    const data = isBytes ? { type: 'data', data: source.data } : { type: 'url', url: source.url };
    return [{ type: 'file', mediaType: isBytes ? source.media_type : 'image/*', data }];
  }
  if (isBytes) return [{ type: 'file', mediaType: source.media_type, data: source.data }];
  lost.add('image');
  return [];
}

function sourceOf({ url, title }: Citation, index: number): JsonObject {
  const id = `source-${index}`;
  return url === null
    ? { type: 'source', sourceType: 'document', id, mediaType: 'text/plain', title }
    : { type: 'source', sourceType: 'url', id, url, ...(title !== '' && { title }) };
}

function endOf(reason: FinishReason, stopSequence: string | null, usage: Usage | null, head: AnswerHead): JsonObject {
  const version = versionIn(head);
  const unified = finishReasons[reason];
  const metadata = stopSequence === null ? {} : { providerMetadata: { [ours]: { stopSequence } } };
  if (version === 2) return { finishReason: unified, usage: flatUsage(usage), ...metadata };
  return { finishReason: { unified, raw: reason }, usage: usageOf(usage), ...metadata };
}

function flatUsage(usage: Usage | null): JsonObject {
  if (usage === null) return {};
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage;
  return {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    ...(reasoningTokens !== undefined && { reasoningTokens }),
    ...(cachedInputTokens !== undefined && { cachedInputTokens }),
  };
}

function usageOf(usage: Usage | null): JsonObject {
  if (usage === null) return { inputTokens: {}, outputTokens: {} };
  const {
    inputTokens,
    outputTokens,
    cachedInputTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    reasoningTokens,
  } = usage;
  return {
    inputTokens: {
      total: inputTokens,
      noCache: Math.max(0, inputTokens - (cacheRead ?? 0) - (cacheWrite ?? 0)),
      ...(cacheRead !== undefined && { cacheRead }),
      ...(cacheWrite !== undefined && { cacheWrite }),
    },
    outputTokens: {
      total: outputTokens,
      text: Math.max(0, outputTokens - (reasoningTokens ?? 0)),
      ...(reasoningTokens !== undefined && { reasoning: reasoningTokens }),
    },
  };
}

/** A part of the stream on the wire. */
export function frameOf(part: JsonObject): string {
  return `data: ${JSON.stringify(part)}\n\n`;
}
