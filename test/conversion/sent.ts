import type { CallerDialectId } from '../../src/formats/dialects/dialect.ts';
import { withPathMembers } from '../../src/formats/dialects/gemini/path-members.ts';
import { type EncodeOrder, readConversation } from '../../src/inference/families/chat/conversation-body.ts';
import { isFailure } from '../../src/kernel/failure.ts';
import type { JsonObject } from '../../src/kernel/json.ts';

export type Target = Pick<EncodeOrder, 'provider' | 'dialect' | 'model'>;

/** A target of each format. */
export const targets: readonly Target[] = [
  { provider: 'vllm', dialect: 'openai-chat', model: 'some-model' },
  { provider: 'openai', dialect: 'openai-responses', model: 'gpt-5.1' },
  { provider: 'anthropic', dialect: 'anthropic-messages', model: 'claude-sonnet-4-5' },
  { provider: 'gemini', dialect: 'gemini', model: 'gemini-2.5-flash' },
  { provider: 'bedrock', dialect: 'bedrock-converse', model: 'amazon.nova-pro-v1:0' },
  { provider: 'cohere', dialect: 'cohere-chat', model: 'command-a-reasoning-08-2025' },
];

/** What goes to the target, as one text, and the names of what was lost, in the caller's words; null: refused. */
export async function sent(
  caller: CallerDialectId,
  body: JsonObject,
  target: Target,
): Promise<{ bytes: string; lost: string[] } | null> {
  const raw = Buffer.from(JSON.stringify(body));
  const read = readConversation(caller === 'gemini' ? withPathMembers(raw, 'alias', true) : raw, caller);
  if (isFailure(read)) throw new Error(JSON.stringify(read));
  const encoded = await read.encode({ ...target, maxOutputTokens: null, stream: true, body: {}, child: null });
  if (isFailure(encoded)) return null;
  if (!('bytes' in encoded)) throw new Error('nothing is fetched here');
  const { bytes, stop, losses } = encoded;
  return { bytes: JSON.stringify([bytes.toString(), stop]), lost: losses.map(({ field }) => field) };
}
