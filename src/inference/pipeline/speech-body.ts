import type { SpeechRequest } from '../neutral/speech.ts';
import { estimatedTokens } from '../neutral/token-count.ts';
import type { ConversationBody } from './conversation-body.ts';
import { plainFacts } from './plain-request.ts';

/** A request for speech as the pipeline carries it: small and plain, so it is encoded where the attempts are. */
export function speechBody(request: SpeechRequest): ConversationBody {
  return {
    facts: {
      ...plainFacts(
        {
          model: request.model,
          user: request.user,
          // A repeat by Idempotency-Key gets the sound whole; events are made here, for who asked for them now.
          stream: request.delivery === 'events',
          inputTokensEstimate: estimatedTokens(Buffer.byteLength(request.input)),
        },
        { stream: false },
      ),
      speech: request,
    },
    encode() {
      throw new Error('a request for speech is encoded by its attempts');
    },
    release() {},
  };
}
