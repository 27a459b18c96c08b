/** English prose and code in the common vocabularies; see `estimateTokens` for the error. */
const bytesPerToken = 4;

/**
 * Rough tokens of a text that nobody counted for us: UTF-8 bytes / 4, rounded up; 0 for an empty text.
 * It replaces an upstream's own figure only where that is missing, and then `usage_source` says `counted`.
 * Error to expect: English prose and code within about a quarter either way; digits, base64 and rare words up to half
 * too low; Cyrillic or Greek (2 bytes a letter) up to half too high; Chinese or Japanese (3 bytes) within a third.
 * A real tokenizer costs 80 MB and is a later, lazy choice.
 */
export function estimateTokens(text: string): number {
  return tokensOfBytes(Buffer.byteLength(text));
}

/** The same for a text whose UTF-8 length is known already. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken);
}
