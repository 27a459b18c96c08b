import type { SharedDialectId } from '../../src/formats/dialects/dialect.ts';

export type { SharedDialectId };

/** The formats of callers, in the order of the table. */
export const dialectIds: readonly SharedDialectId[] = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'gemini',
];
