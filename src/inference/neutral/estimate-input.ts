import { isObject, type JsonValue } from '../../kernel/json.ts';
import { estimatedTokens } from './usage.ts';

/** Shorter bodies are not looked into: what they hold is few tokens, whatever it is. */
const lookedIntoBytesMin = 4_096;
/** Words of prose end sooner. */
const base64CharsMin = 1_024;
/** What a picture, a page of a document or a thought that is handed back comes to: 1,092 × 1,092 pixels at Anthropic. */
const base64TokensMax = 1_590;

/**
 * Rough tokens of a request: its text as above, and each long run of base64 (pictures, sound, files, signatures,
 * encrypted thoughts) as at most `base64TokensMax`, wherever it stands. `bodyBytes` is the length of its JSON.
 */
export function estimatedInput(body: JsonValue, bodyBytes: number): number {
  if (bodyBytes < lookedIntoBytesMin) return estimatedTokens(bodyBytes);
  const found = { bytes: 0, tokens: 0 };
  findBase64(body, found);
  return estimatedTokens(Math.max(0, bodyBytes - found.bytes)) + found.tokens;
}

function findBase64(value: JsonValue, found: { bytes: number; tokens: number }): void {
  if (typeof value === 'string') {
    if (value.length < base64CharsMin || !isBase64(value)) return;
    found.bytes += value.length;
    found.tokens += Math.min(base64TokensMax, estimatedTokens(value.length));
  } else if (Array.isArray(value)) for (const one of value) findBase64(one, found);
  else if (isObject(value)) for (const name in value) findBase64(value[name]!, found);
}

/** By its beginning, behind that of a data: URL, and its end: the rest is megabytes. */
function isBase64(text: string): boolean {
  const from = text.startsWith('data:') ? text.slice(0, 256).indexOf(',') + 1 : 0;
  return /^[\w+/=-]*$/.test(text.slice(from, from + 512) + text.slice(-256));
}
