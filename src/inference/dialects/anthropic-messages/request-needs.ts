import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { RequestNeeds } from '../../neutral/request.ts';
import { estimatedTokens } from '../../neutral/token-count.ts';
import { type CallerBlock, type CallerBody, isCustomTool } from './request-wire.ts';

/** A picture counts as this many tokens: 1,092 × 1,092 pixels by Anthropic's rule, the largest it does not shrink. */
const mediaTokens = 1_590;

/**
 * What routing must know of a checked request. `bodyBytes` is the length of its JSON as received, which makes the size
 * estimate free.
 */
export function needsOf(body: CallerBody, bodyBytes: number): RequestNeeds {
  const seen = { vision: false, mediaBytes: 0, media: 0 };
  for (const { content } of body.messages) if (typeof content !== 'string') look(content, seen);
  const format = body.output_config?.format ?? body.output_format;
  return {
    vision: seen.vision,
    audioIn: false,
    tools: body.tools?.some(isCustomTool) ?? false,
    logprobs: false,
    jsonSchema: isObject(format) && format.type === 'json_schema',
    reasoning: body.thinking?.type === 'enabled' || body.thinking?.type === 'adaptive',
    n: 1,
    stream: body.stream === true,
    inputTokensEstimate: estimatedTokens(Math.max(0, bodyBytes - seen.mediaBytes)) + seen.media * mediaTokens,
    maxOutputTokens: body.max_tokens ?? null,
  };
}

function look(blocks: readonly CallerBlock[], seen: { vision: boolean; mediaBytes: number; media: number }): void {
  for (const block of blocks) {
    switch (block.type) {
      case 'image':
        seen.vision = true;
        seen.media++;
        seen.mediaBytes += sourceLength(block.source as JsonObject);
        break;
      case 'document': {
        const source = block.source as JsonObject;
        if (source.type === 'text' || source.type === 'content') break;
        seen.media++;
        seen.mediaBytes += sourceLength(source);
        break;
      }
      case 'tool_result':
        if (Array.isArray(block.content)) look(block.content as CallerBlock[], seen);
        break;
    }
  }
}

function sourceLength({ data }: JsonObject): number {
  return typeof data === 'string' ? data.length : 0;
}
