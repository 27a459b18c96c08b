import type { DialectId } from '../../src/inference/dialects/dialect.ts';

export type { DialectId };

/** The formats of callers, in the order of the table. */
export const dialectIds: readonly DialectId[] = ['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini'];
