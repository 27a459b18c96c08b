import type { JsonObject } from '../../../kernel/json.ts';
import type { JsonScan } from '../../../kernel/json-scan.ts';
import type { RequestNeeds } from '../../neutral/request.ts';
import { estimatedTokens } from '../../neutral/token-count.ts';
import type { CallerRequest, Result } from '../dialect.ts';
import { cleanUser } from '../field-table.ts';
import { checkRequest } from './check-request.ts';
import { toNeutral } from './decode-request.ts';
import { prepareForTarget } from './prepare-for-target.ts';
import type { ChatPart, ChatRequest } from './wire.ts';

/** Checks a body and keeps it as it came: what only a conversion needs is built when one is asked for. */
export function readRequest(raw: Buffer, body: JsonObject, scan: JsonScan): Result<CallerRequest> {
  const checked = checkRequest(body);
  if (!checked.ok) return checked;
  const request = checked.value;
  return {
    ok: true,
    value: {
      model: request.model,
      stream: request.stream === true,
      includeUsage: request.stream_options?.include_usage === true,
      n: request.n ?? 1,
      seed: request.seed ?? null,
      needs: needsOf(request, raw.length),
      user: cleanUser(request.user),
      fallbackModels: request.models ?? [],
      conversationStart: conversationStart(request),
      neutral: () => toNeutral(request),
      forward: (target) => prepareForTarget(raw, body, scan, target),
    },
  };
}

const startCharsMax = 1_024;

/** The messages up to the first of the user, which every later turn of the conversation repeats. */
function conversationStart({ messages }: ChatRequest): string {
  let start = '';
  for (const { role, content } of messages) {
    if (typeof content === 'string') start += content.slice(0, startCharsMax);
    else
      for (const part of content ?? []) {
        // Parts that are no text may have any member of this name.
        if (typeof part.text === 'string') start += part.text.slice(0, startCharsMax);
      }
    if (role === 'user' || start.length >= startCharsMax) break;
  }
  return start.slice(0, startCharsMax);
}

/**
 * What routing must know of a checked request. `bodyBytes` is the length of its JSON as received, which makes the size
 * estimate free.
 */
function needsOf(body: ChatRequest, bodyBytes: number): RequestNeeds {
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
