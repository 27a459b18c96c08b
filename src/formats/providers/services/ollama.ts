import { effortsOfServers } from '../efforts.ts';
import { choiceByTools } from '../forced-calls.ts';
import { openAiLike } from '../openai-like.ts';

/** https://docs.ollama.com/api/openai-compatibility: what it does not list is ignored, not refused. */
export const ollama = openAiLike({
  id: 'ollama',
  title: 'Ollama',
  baseUrl: 'http://127.0.0.1:11434/v1',
  local: true,
  auth: 'bearer',
  forwards: { completions: '/completions' },
  embeds: { format: 'ollama', path: { fromOrigin: '/api/embed' }, batch: 64, takesTokens: false, dimensions: 'asked' },
  quirks: {
    systemFirst: true,
    rename: { max_completion_tokens: 'max_tokens' },
    nativeN: false,
    fits: [choiceByTools],
    // 400: invalid reasoning value: 'xhigh' (must be "high", "medium", "low", "max", or "none").
    models: [{ pattern: /(?:)/, efforts: effortsOfServers }],
  },
  tooLong: [/prompt too long; exceeded max context length|input length exceeds/i],
  errors: [
    { status: 404, code: /model .*not found|try pulling/i, class: 'model_unavailable' },
    // The model wrote a call that is no JSON; another request is answered (github.com/ollama/ollama/issues/17638).
    { status: 500, code: /error parsing tool call/i, class: 'caller_fault' },
  ],
});
