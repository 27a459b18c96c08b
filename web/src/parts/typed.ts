// What somebody typed, as the server takes it.

/** A number may be grouped by commas. What is none stays as it is, and the server says so at its field. */
export function numberOrText(text: string): number | string {
  const value = Number(text.trim().replaceAll(',', ''));
  return text.trim() === '' || Number.isNaN(value) ? text.trim() : value;
}

/** Why a text is no JSON; null where it is, or where there is none. */
export function faultInJson(text: string): string | null {
  if (text.trim() === '') return null;
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return `This is not valid JSON: ${(error as Error).message}`;
  }
}
