import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { JsonScan } from '../../../kernel/json-scan.ts';
import type { CallerRequest, Result } from '../dialect.ts';
import { callersWord } from './callers-word.ts';
import { checkRequest } from './check-request.ts';
import { type Decoded, toNeutral, userOf } from './decode-request.ts';
import { echoOf } from './echo.ts';
import { forward } from './forward.ts';
import { nativeOnly } from './native-only.ts';
import { needsOf } from './request-needs.ts';
import type { ResponsesRequest } from './wire.ts';

/** Checks a body and keeps it as it came: what only a conversion needs is built when one is asked for. */
export function readRequest(raw: Buffer, body: JsonObject, scan: JsonScan): Result<CallerRequest> {
  const checked = checkRequest(body);
  if (!checked.ok) return checked;
  const request = checked.value;
  const native = nativeOnly(request);
  let decoded: Decoded | null = null;
  const decode = (): Decoded => {
    decoded ??= toNeutral(request);
    return decoded;
  };
  return {
    ok: true,
    value: {
      model: request.model,
      stream: request.stream === true,
      includeUsage: true,
      n: 1,
      seed: null,
      needs: needsOf(request, raw.length),
      user: userOf(request),
      fallbackModels: request.models ?? [],
      conversationStart: conversationStart(request),
      echo: echoOf(request),
      ...(native !== null && { nativeOnly: native }),
      // A copy at the top: who encodes it for one target must not change it for the next.
      neutral: () => ({ ...decode().request }),
      wordFor: (field) => callersWord(field, () => decode().origins),
      forward: (target) => forward(raw, request, scan, target),
    },
  };
}

const startCharsMax = 1_024;

/** What begins the conversation, which every later turn repeats. */
function conversationStart({ instructions, input, previous_response_id: previous }: ResponsesRequest): string {
  if (previous) return previous.slice(0, startCharsMax);
  let start = (instructions ?? '').slice(0, startCharsMax);
  if (typeof input === 'string') return (start + input.slice(0, startCharsMax)).slice(0, startCharsMax);
  for (const { role, content } of input ?? []) {
    if (typeof content === 'string') start += content.slice(0, startCharsMax);
    else if (Array.isArray(content)) start += textIn(content);
    if (role === 'user' || start.length >= startCharsMax) break;
  }
  return start.slice(0, startCharsMax);
}

/** Items and parts of types that nobody here knows may hold anything. */
function textIn(content: readonly unknown[]): string {
  let text = '';
  for (const part of content) {
    if (isObject(part) && typeof part.text === 'string') text += part.text.slice(0, startCharsMax);
    if (text.length >= startCharsMax) break;
  }
  return text;
}
