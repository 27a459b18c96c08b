// Typed text, as the server takes it.

/** A number may have commas. Other text stays unchanged, and the server says so at its field. */
export function numberOrText(text: string): number | string {
  const value = Number(text.trim().replaceAll(',', ''));
  return text.trim() === '' || Number.isNaN(value) ? text.trim() : value;
}

/** Why a text is not JSON; null when it is, or when there is none. */
export function faultInJson(text: string): string | null {
  if (text.trim() === '') return null;
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return `This is not valid JSON: ${(error as Error).message}`;
  }
}
