// Typed text, as the server takes it.

/**
 * `1,500` is a thousand and five hundred, `0,25` and `2,5` have a decimal comma. Text that is no number stays
 * unchanged, and the server says so at its field.
 */
export function numberOrText(text: string): number | string {
  const typed = text.trim();
  const inThousands = /^[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/.test(typed);
  const value = Number(inThousands ? typed.replaceAll(',', '') : typed.replace(/^(\d*),(\d+)$/, '$1.$2'));
  return typed === '' || !Number.isFinite(value) ? typed : value;
}

/** Something that was typed cannot be sent. */
export class FieldProblem extends Error {
  readonly field: string;
  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

/** A number that was typed; undefined where nothing was. Throws a FieldFault. */
export function numberOf(text: string, field: string): number | undefined {
  if (text.trim() === '') return undefined;
  const value = numberOrText(text);
  if (typeof value === 'string') throw new FieldProblem(field, 'Expected a number.');
  return value;
}

/** Entries that are typed on separate lines, or between commas. */
export function listIn(text: string, by: '\n' | ','): string[] {
  const parts = text.split(by).map((part) => part.trim());
  return parts.filter((part) => part !== '');
}

/** A JSON object, {} for no text; null when it is anything else. */
export function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = text.trim() === '' ? {} : JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** Why a text is not JSON; null when it is, or when there is none. */
export function jsonProblem(text: string): string | null {
  if (text.trim() === '') return null;
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return `This is not valid JSON: ${(error as Error).message}`;
  }
}
