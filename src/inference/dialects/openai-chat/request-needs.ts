import type { RequestNeeds } from '../../neutral/request.ts';
import { estimatedTokens } from '../../neutral/token-count.ts';
import type { CheckedChatRequest } from './check-request.ts';
import type { ChatPart } from './wire.ts';

/**
 * What routing must know of a checked request. `bodyBytes`, the length of the JSON as received, makes the size
 * estimate free; without it texts are measured and tools written out again.
 */
export function needsOf(body: CheckedChatRequest, bodyBytes?: number): RequestNeeds {
  let vision = false;
  let audioIn = false;
  let textBytes = 0;
  let mediaBytes = 0;
  const measure = bodyBytes === undefined;
  for (const { content } of body.messages) {
    if (typeof content === 'string') {
      if (measure) textBytes += Buffer.byteLength(content);
    } else if (content) {
      for (const part of content) {
        const media = mediaLength(part);
        mediaBytes += media;
        if (part.type === 'image_url') vision = true;
        else if (part.type === 'input_audio') audioIn = true;
        else if (measure && part.type !== 'file') textBytes += Buffer.byteLength(part.text ?? part.refusal ?? '');
      }
    }
  }
  if (measure && body.tools) textBytes += JSON.stringify(body.tools).length;
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
    inputTokensEstimate: estimatedTokens(measure ? textBytes : Math.max(0, bodyBytes - mediaBytes)),
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
