import { isObject, type JsonObject, nestsDeeper } from '../../kernel/json.ts';
import { jsonDepthMax } from '../../kernel/limits.ts';

/**
 * Pieces of one call's arguments as they may go on. Cohere's models write `null` for a tool without parameters, where
 * every other format has an object: a text that can still become `null` waits, and `null` alone is no arguments.
 */
export class ArgumentsText {
  #waiting: string | null = '';

  /** Text to pass on now; '' for none. */
  next(piece: string): string {
    if (this.#waiting === null) return piece;
    const text = this.#waiting + piece;
    if ('null'.startsWith(text.trim())) {
      this.#waiting = text;
      return '';
    }
    this.#waiting = null;
    return text;
  }
}

/** A call's whole arguments, as a client sends them back: those of no text, or of `null`, are an empty object. */
export function argumentsOrEmpty(json: string): string {
  const text = json.trim();
  return text === '' || text === 'null' ? '{}' : json;
}

/** The object that a call's arguments are; null: another text, or one with more levels than a body may have. */
export function argumentsObject(json: string): JsonObject | null {
  if (nestsDeeper(json, jsonDepthMax)) return null;
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * The text for a custom tool from the arguments of its replacement function. Models do not always keep to the schema:
 * another lone string member is taken for the text, and anything else goes unchanged.
 */
export function customInput(argumentsJson: string): string {
  let value: unknown;
  try {
    value = JSON.parse(argumentsJson);
  } catch {
    return argumentsJson;
  }
  if (typeof value === 'string') return value;
  if (!isObject(value)) return argumentsJson;
  if (typeof value.input === 'string') return value.input;
  const members = Object.values(value);
  if (members.length === 0) return '';
  return members.length === 1 && typeof members[0] === 'string' ? members[0] : argumentsJson;
}
