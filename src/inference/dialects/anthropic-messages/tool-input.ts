import { isObject, type JsonObject } from '../../../kernel/json.ts';

/**
 * A call's arguments as the object that this format wants. What a model wrote is not always one: empty text is `{}`,
 * anything else that is no JSON object is `{"_raw": text}`, so that nothing fails and nothing is lost.
 */
export function toolInputOf(argumentsJson: string): { input: JsonObject; as: 'written' | 'raw' } {
  if (argumentsJson === '' || argumentsJson === '{}') return { input: {}, as: 'written' };
  try {
    const value: unknown = JSON.parse(argumentsJson);
    if (isObject(value)) return { input: value, as: 'written' };
  } catch {
    if (argumentsJson.trim() === '') return { input: {}, as: 'written' };
  }
  return { input: { _raw: argumentsJson }, as: 'raw' };
}
