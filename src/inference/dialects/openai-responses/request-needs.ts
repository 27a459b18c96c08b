import { isObject, type JsonValue } from '../../../kernel/json.ts';
import type { RequestNeeds } from '../../neutral/request.ts';
import { estimatedTokens } from '../../neutral/token-count.ts';
import { asksLogprobs } from './decode-request.ts';
import type { ContentPart, ResponsesRequest } from './wire.ts';

/** What routing must know of a checked request. `bodyBytes` is the length of its JSON as received. */
export function needsOf(body: ResponsesRequest, bodyBytes: number): RequestNeeds {
  const media = { vision: false, audioIn: false, bytes: 0 };
  if (Array.isArray(body.input)) {
    for (const { content, output } of body.input) {
      look(content, media);
      look(output, media);
    }
  }
  return {
    vision: media.vision,
    audioIn: media.audioIn,
    tools: (body.tools ?? []).some(({ type }) => type === 'function' || type === 'custom'),
    logprobs: asksLogprobs(body),
    jsonSchema: body.text?.format?.type === 'json_schema',
    reasoning: (body.reasoning?.effort ?? 'none') !== 'none',
    n: 1,
    stream: body.stream === true,
    inputTokensEstimate: estimatedTokens(Math.max(0, bodyBytes - media.bytes)),
    maxOutputTokens: body.max_output_tokens ?? null,
  };
}

function look(
  content: string | readonly ContentPart[] | null | undefined,
  media: { vision: boolean; audioIn: boolean; bytes: number },
): void {
  if (!Array.isArray(content)) return;
  // Items of types that nobody here knows may hold anything.
  for (const part of content as readonly unknown[]) {
    if (!isObject(part)) continue;
    if (part.type === 'input_image') {
      media.vision = true;
      media.bytes += lengthOf(part.image_url);
    } else if (part.type === 'input_file') media.bytes += lengthOf(part.file_data);
    else if (part.type === 'input_audio') {
      media.audioIn = true;
      media.bytes += isObject(part.input_audio) ? lengthOf(part.input_audio.data) : 0;
    }
  }
}

function lengthOf(value: JsonValue | undefined): number {
  return typeof value === 'string' ? value.length : 0;
}
