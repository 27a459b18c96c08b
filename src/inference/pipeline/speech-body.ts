import type { SpeechRequest } from '../neutral/speech.ts';
import { estimatedTokens } from '../neutral/token-count.ts';
import type { ConversationBody } from './conversation-body.ts';

/** A request for speech as the pipeline carries it: small and plain, so it is encoded where the attempts are. */
export function speechBody(request: SpeechRequest): ConversationBody {
  return {
    facts: {
      model: request.model,
      // A repeat by Idempotency-Key gets the sound whole; events are made for who asked for them now.
      stream: request.delivery === 'events',
      includeUsage: false,
      n: 1,
      seed: null,
      user: request.user,
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
        stream: false,
        inputTokensEstimate: estimatedTokens(Buffer.byteLength(request.input)),
        maxOutputTokens: null,
      },
      speech: request,
    },
    encode() {
      throw new Error('a request for speech is encoded by its attempts');
    },
    release() {},
  };
}
