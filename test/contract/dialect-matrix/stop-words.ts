import type { CallerId } from './formats.ts';

/** Design §9 in the callers' own words. */
export const stopWords = {
  'openai-chat': { stop: 'stop', length: 'length', string: 'stop', calls: 'tool_calls', filter: 'content_filter' },
  'anthropic-messages': {
    stop: 'end_turn',
    length: 'max_tokens',
    string: 'stop_sequence',
    calls: 'tool_use',
    filter: 'refusal',
  },
  'openai-responses': {
    stop: 'completed',
    length: 'incomplete: max_output_tokens',
    string: 'completed',
    calls: 'completed',
    filter: 'incomplete: content_filter',
  },
  gemini: { stop: 'STOP', length: 'MAX_TOKENS', string: 'STOP', calls: 'STOP', filter: 'SAFETY' },
} as const satisfies Record<CallerId, Record<string, string>>;
