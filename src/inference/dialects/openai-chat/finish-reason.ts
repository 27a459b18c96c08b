import type { FinishReason } from '../../neutral/event.ts';
import type { ChatFinishReason } from './wire.ts';

const toWire = {
  stop: 'stop',
  'stop-sequence': 'stop',
  pause: 'stop',
  length: 'length',
  'context-full': 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
} as const satisfies Record<FinishReason, ChatFinishReason>;

export function wireFinishReason(reason: FinishReason): ChatFinishReason {
  return toWire[reason];
}

/** OpenAI's words, and those of providers of its format that differ. */
const fromWire: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ['stop', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  // Mistral: the context is full.
  ['model_length', 'context-full'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
  ['content_filter', 'content-filter'],
  ['safety', 'content-filter'],
]);

/** Words that say the answer broke off: DeepSeek without resources, OpenRouter and Mistral with an error. */
const brokenOff: ReadonlySet<string> = new Set(['error', 'insufficient_system_resource', 'cancelled', 'abort']);

/** Null when the word means that the answer failed. Words nobody knows (`eos`, `end_turn`) are a normal stop. */
export function neutralFinishReason(word: string): FinishReason | null {
  const key = word.toLowerCase();
  return brokenOff.has(key) ? null : (fromWire.get(key) ?? 'stop');
}
