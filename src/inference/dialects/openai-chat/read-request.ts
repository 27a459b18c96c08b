import type { JsonObject } from '../../../kernel/json.ts';
import type { JsonScan } from '../../../kernel/json-scan.ts';
import type { CallerRequest, Result } from '../dialect.ts';
import { checkRequest } from './check-request.ts';
import { toNeutral, userOf } from './decode-request.ts';
import { prepareForTarget } from './prepare-for-target.ts';
import { needsOf } from './request-needs.ts';
import type { ChatRequest } from './wire.ts';

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
      user: userOf(request),
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
