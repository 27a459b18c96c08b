import type { CallerDialectId } from '../../src/formats/dialects/dialect.ts';

export type { CallerDialectId };

/** The formats of callers, in the order of the table. */
export const dialectIds: readonly CallerDialectId[] = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'gemini',
];
