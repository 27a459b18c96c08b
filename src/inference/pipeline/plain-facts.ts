import type { RequestNeeds } from '../neutral/request.ts';
import type { ConversationFacts } from './conversation-body.ts';

/** What a request says of itself that is no conversation; `needs`: what its own kind asks of a target. */
export function plainFacts(
  request: { model: string; user: string | null; stream: boolean; inputTokensEstimate: number },
  needs: Partial<RequestNeeds> = {},
): ConversationFacts {
  const { model, user, stream, inputTokensEstimate } = request;
  return {
    model,
    stream,
    includeUsage: false,
    n: 1,
    seed: null,
    user,
    fallbackModels: [],
    conversationStart: '',
    needs: {
      vision: false,
      audioIn: false,
      tools: false,
      logprobs: false,
      jsonSchema: false,
      reasoning: false,
      n: 1,
      stream,
      inputTokensEstimate,
      maxOutputTokens: null,
      ...needs,
    },
  };
}
