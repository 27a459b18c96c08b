import { FailureError } from '../../kernel/failure.ts';

/** Calls that this engine answers with 501, in words for callers and operators. */
export const unsupportedByQdrant = {
  'text-index': 'taking texts apart for match.text (tokenizer and other options of a text index)',
} as const;

export type UnsupportedByQdrant = keyof typeof unsupportedByQdrant;

export function unsupported(what: UnsupportedByQdrant): FailureError {
  const message = `This server keeps vectors in Qdrant, where ${unsupportedByQdrant[what]} is not supported. vectors.engine: embedded supports it.`;
  return new FailureError({ kind: 'unsupported', message });
}
