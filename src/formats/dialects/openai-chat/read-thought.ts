import { isObject, type JsonObject } from '../../../kernel/json.ts';

/**
 * The thought of a delta or message; '' when it has none. vLLM sends two names with the same text; OpenRouter a list
 * too, Snowflake that alone.
 */
export function thoughtIn({ reasoning_content: thought, reasoning, reasoning_details: details }: JsonObject): string {
  if (typeof thought === 'string' && thought !== '') return thought;
  if (typeof reasoning === 'string' && reasoning !== '') return reasoning;
  if (!Array.isArray(details)) return '';
  let text = '';
  for (const detail of details) {
    const thought = isObject(detail) ? (detail.text ?? detail.summary) : null;
    if (typeof thought === 'string') text += thought;
  }
  return text;
}
