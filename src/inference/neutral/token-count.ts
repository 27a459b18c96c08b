/** English prose and code in the common vocabularies; see `estimatedTokens` for the error. */
const bytesPerToken = 4;

/**
 * Rough tokens of text that nobody counted for us: UTF-8 bytes / 4, rounded up. Answers are measured in UTF-16 units
 * instead, which are there for nothing and as many in Latin script. It replaces an upstream's own figure only where
 * that is missing, and then `usage_source` says so.
 * Error to expect: English prose and code within about a quarter either way; digits, base64 and rare words up to half
 * too low; Cyrillic or Greek (2 bytes a letter) up to half too high; Chinese or Japanese (3 bytes) within a third, and
 * in answers two thirds too low. A real tokenizer costs 80 MB and is a later, lazy choice.
 */
export function estimatedTokens(length: number): number {
  return Math.ceil(length / bytesPerToken);
}
