import { chatSpeech } from './speak-chat.ts';
import { messagesSpeech } from './speak-messages.ts';
import { responsesSpeech } from './speak-responses.ts';
import type { Speech } from './speech.ts';

export type EndpointKind = 'chat' | 'messages' | 'responses' | 'count-tokens' | 'models' | 'model' | 'unknown';

export interface Endpoint {
  kind: EndpointKind;
  /** The dialect of its answers and errors. */
  speech: Speech;
  method: 'GET' | 'POST';
  /** The model that the path names: Azure's deployment, or the one asked of `/models/{id}`. */
  pathModel: string | null;
}

const chat: Endpoint = { kind: 'chat', speech: chatSpeech, method: 'POST', pathModel: null };
const messages: Endpoint = { kind: 'messages', speech: messagesSpeech, method: 'POST', pathModel: null };
const responses: Endpoint = { kind: 'responses', speech: responsesSpeech, method: 'POST', pathModel: null };
const inputTokens: Endpoint = { kind: 'count-tokens', speech: responsesSpeech, method: 'POST', pathModel: null };
const countTokens: Endpoint = { kind: 'count-tokens', speech: messagesSpeech, method: 'POST', pathModel: null };

/**
 * Endpoints are known by the path's end, so that any provider's base URL works: `/v1`, `/openai/v1`, `/api/v1`, none,
 * and Azure's `/openai/deployments/{deployment}`. `path` comes without its query.
 */
export function endpointOf(path: string, version: 'anthropic' | 'openai'): Endpoint {
  if (path.endsWith('/chat/completions')) {
    const deployment = /\/deployments\/([^/]+)\//.exec(path);
    return deployment === null ? chat : { ...chat, pathModel: decoded(deployment[1]!) };
  }
  if (path.endsWith('/messages')) return messages;
  if (path.endsWith('/messages/count_tokens')) return countTokens;
  if (path.endsWith('/responses')) return responses;
  if (path.endsWith('/responses/input_tokens')) return inputTokens;
  const speech = version === 'anthropic' ? messagesSpeech : chatSpeech;
  if (path.endsWith('/models')) return { kind: 'models', speech, method: 'GET', pathModel: null };
  const one = /\/models\/([^/]+(?:\/[^/]+)*)$/.exec(path);
  if (one !== null) return { kind: 'model', speech, method: 'GET', pathModel: decoded(one[1]!) };
  return { kind: 'unknown', speech, method: 'POST', pathModel: null };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
