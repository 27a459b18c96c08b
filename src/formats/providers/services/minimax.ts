import type { JsonObject } from '../../../kernel/json.ts';
import type { FittedMembers } from '../../dialects/forward-target.ts';
import { openAiLike } from '../openai-like.ts';

/**
 * https://platform.minimax.io/docs/api-reference/text-openai-api and text-anthropic-api: one key, three formats; in
 * Anthropic's format thoughts are apart from the text. China's platform is `https://api.minimaxi.com/v1`.
 */
export const minimax = openAiLike({
  id: 'minimax',
  title: 'MiniMax',
  baseUrl: 'https://api.minimax.io/v1',
  envKey: 'MINIMAX_API_KEY',
  speaksToo: ['openai-responses', 'anthropic-messages'],
  paths: { messages: { fromOrigin: '/anthropic/v1/messages' } },
  quirks: { nativeN: false, fits: [warm] },
});

/** It takes a temperature above 0 and up to 1. */
function warm({ temperature }: JsonObject): FittedMembers | null {
  if (typeof temperature !== 'number' || (temperature > 0 && temperature <= 1)) return null;
  const losses = temperature > 1 ? [{ field: 'temperature', why: 'clamped' as const }] : [];
  return { members: { temperature: temperature > 1 ? 1 : 0.01 }, losses };
}
