import type { RequestNeeds } from '../../neutral/request.ts';
import { estimatedTokens } from '../../neutral/token-count.ts';
import type { ChatPart, ChatRequest } from './wire.ts';

/**
 * What routing must know of a checked request. `bodyBytes` is the length of its JSON as received, which makes the size
 * estimate free.
 */
export function needsOf(body: ChatRequest, bodyBytes: number): RequestNeeds {
  let vision = false;
  let audioIn = false;
  let mediaBytes = 0;
  for (const { content } of body.messages) {
    if (typeof content === 'string' || !content) continue;
    for (const part of content) {
      mediaBytes += mediaLength(part);
      if (part.type === 'image_url') vision = true;
      else if (part.type === 'input_audio') audioIn = true;
    }
  }
  const effort = body.reasoning_effort ?? 'none';
  return {
    vision,
    audioIn,
    tools: (body.tools?.length ?? 0) > 0 || (body.functions?.length ?? 0) > 0,
    logprobs: body.logprobs === true,
    jsonSchema: body.response_format?.type === 'json_schema',
    reasoning: effort !== 'none',
    n: body.n ?? 1,
    stream: body.stream === true,
    inputTokensEstimate: estimatedTokens(Math.max(0, bodyBytes - mediaBytes)),
    maxOutputTokens: body.max_completion_tokens ?? body.max_tokens ?? null,
  };
}

function mediaLength(part: ChatPart): number {
  switch (part.type) {
    case 'image_url':
      return part.image_url?.url.length ?? 0;
    case 'input_audio':
      return part.input_audio?.data.length ?? 0;
    case 'file':
      return part.file?.file_data?.length ?? 0;
    default:
      return 0;
  }
}
