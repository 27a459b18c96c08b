import { hash } from 'node:crypto';
import { isObject, type JsonValue } from '../../kernel/json.ts';

/** Begins each signature of the simulator's: `simulated` in base64. */
const begins = 'c2ltdWxhdGVk';

/** The proof over a thought. */
export function signatureOf(thought: string): string {
  return begins + hash('sha256', thought, 'base64').slice(0, 24);
}

/** Anthropic's words for the first thought that is not as it was signed; null: each fits. Signatures of others pass. */
export function brokenThought(messages: readonly JsonValue[]): string | null {
  for (const [at, message] of messages.entries()) {
    const content = isObject(message) && Array.isArray(message.content) ? message.content : [];
    for (const [place, block] of content.entries()) {
      if (!isObject(block) || block.type !== 'thinking') continue;
      const { signature } = block;
      const isSigned = typeof signature === 'string' && signature !== '';
      if (isSigned && (!signature.startsWith(begins) || signature === signatureOf(String(block.thinking)))) continue;
      return `messages.${at}.content.${place}: Invalid \`signature\` in \`thinking\` block`;
    }
  }
  return null;
}
