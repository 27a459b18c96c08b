import { serverUnder } from '../../books/auth/principal.ts';
import type { DataRule } from '../../config/data-rules.ts';
import { FailureError } from '../../kernel/failure.ts';
import { type JsonObject, objectIn, objectsIn, stringOr } from '../../kernel/json.ts';
import { chatEndpoint } from '../families/chat/endpoint.ts';
import type { ChatServices } from '../families/chat/services.ts';
import { embeddingsEndpoint } from '../families/embeddings/endpoint.ts';
import type { EmbeddingServices } from '../families/embeddings/services.ts';
import type { InnerCalls, ServeServices } from '../spine/answer-cache.ts';
import { call } from '../spine/call.ts';
import type { Endpoint, Plan } from '../spine/endpoint.ts';
import type { RequestBody } from '../spine/request-body.ts';

type InnerServices = Omit<ChatServices, 'serverTools'> & EmbeddingServices & ServeServices;

const judgeMsMax = 60_000;
const judgeText =
  'You compare two answers to the same question. Reply with one word: SAME if a reader learns the same from both, DIFFERENT if not.';

/** Calls for caches, guards and rules. `tag`: that of their rows. */
export function createInnerCalls(services: InnerServices, tag: 'cache' | 'guard' | 'rule'): InnerCalls {
  const embeddings = embeddingsEndpoint(services, 'embeddings');
  const chat = chatEndpoint({ ...services, serverTools: { ports: null } }, 'chat', 'openai-chat');

  /** The body of its answer; null: there is none in time. */
  async function answerOf<R extends RequestBody, P extends Plan>(
    endpoint: Endpoint<Buffer, R, P>,
    json: JsonObject,
    ms: number,
    rules: readonly DataRule[] = [],
  ): Promise<JsonObject | null> {
    const leaving = new AbortController();
    const owner = { principal: serverUnder(rules), tag, headers: { 'x-culvert-cache': 'exact' } };
    const bounds = { signal: leaving.signal, preferences: { timeoutMs: ms } };
    const late = Promise.withResolvers<null>();
    const timer = setTimeout(() => {
      leaving.abort();
      late.resolve(null);
    }, ms);
    try {
      const outcome = await Promise.race([
        call(services, endpoint, owner, Buffer.from(JSON.stringify(json)), bounds),
        late.promise,
      ]);
      if (outcome?.kind === 'refused' && outcome.failure.kind === 'rule-refused')
        throw new FailureError(outcome.failure);
      return outcome?.kind === 'answered' && outcome.status === 200 ? JSON.parse(outcome.body.toString()) : null;
    } catch (error) {
      if (error instanceof FailureError && rules.length > 0) throw error;
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    async embed(model, texts, ms, rules) {
      const answer = await answerOf(embeddings, { model, input: [...texts] }, ms, rules);
      const vectors = objectsIn(answer?.data)
        .toSorted((one, other) => Number(one.index) - Number(other.index))
        .map(({ embedding }) => (Array.isArray(embedding) ? embedding.map(Number) : []));
      return vectors.length === texts.length ? vectors : null;
    },
    async judge(model, question, [first, second]) {
      const prompt = JSON.stringify({ question, first, second });
      const messages = [
        { role: 'system', content: judgeText },
        { role: 'user', content: prompt },
      ];
      const answer = await answerOf(chat, { model, messages, temperature: 0 }, judgeMsMax);
      const [, word] = contentOf(answer).match(/^\W*(same|different)\W*$/i) ?? [];
      return word === undefined ? null : word.toLowerCase() === 'same';
    },
  };
}

/** The text of a chat completion's first choice; '' for none. */
export function contentOf(answer: unknown): string {
  const [choice] = objectsIn(objectIn(answer).choices);
  return stringOr(objectIn(choice?.message).content, '');
}
