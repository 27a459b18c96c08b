import type { IncomingHttpHeaders } from 'node:http';
import type { JsonObject } from '../../kernel/json.ts';
import { uriText } from '../../kernel/web/uri-text.ts';
import { chatSpeech } from './speak-chat.ts';
import { completionsSpeech, fimSpeech } from './speak-completions.ts';
import { embeddingsSpeech } from './speak-embeddings.ts';
import { imageEditsSpeech, imagesSpeech, picturePath } from './speak-images.ts';
import { messagesSpeech } from './speak-messages.ts';
import { moderationsSpeech } from './speak-moderations.ts';
import { rerankSpeech } from './speak-rerank.ts';
import { responsesSpeech } from './speak-responses.ts';
import { soundSpeech } from './speak-sound.ts';
import { transcriptionSpeech, translationSpeech } from './speak-transcript.ts';
import type { Speech } from './speech.ts';

export type EndpointKind =
  | 'chat'
  | 'messages'
  | 'responses'
  | 'count-tokens'
  | 'models'
  | 'model'
  | 'voices'
  | 'picture'
  | 'unknown';

export interface Endpoint {
  /** `chat`: a prompt is read and answered, whatever comes of it: text, vectors, sound, pictures. */
  kind: EndpointKind;
  /** The dialect of its answers and errors. */
  speech: Speech;
  method: 'GET' | 'POST';
  /** The model that the path names: Azure's deployment, or the one asked of `/models/{id}`. */
  pathModel: string | null;
  /** Values in the path or the query that other dialects have in the body. */
  urlMembers?: JsonObject;
}

/** The endpoint of a target (path and query) in a format that is not one of ours; null for another's. */
export type OtherFormats = (target: string, headers: IncomingHttpHeaders) => Endpoint | null;

const messages: Endpoint = { kind: 'messages', speech: messagesSpeech, method: 'POST', pathModel: null };
const responses: Endpoint = { kind: 'responses', speech: responsesSpeech, method: 'POST', pathModel: null };
/** Answers by the end of a path; the first that fits. */
const speechByEnd: readonly (readonly [end: string, speech: Speech])[] = [
  ['/chat/completions', chatSpeech],
  ['/fim/completions', fimSpeech],
  ['/completions', completionsSpeech],
  ['/embeddings', embeddingsSpeech],
  ['/moderations', moderationsSpeech],
  ['/rerank', rerankSpeech],
  ['/audio/speech', soundSpeech],
  ['/audio/transcriptions', transcriptionSpeech],
  ['/audio/translations', translationSpeech],
  ['/images/generations', imagesSpeech],
  ['/images/edits', imageEditsSpeech],
];
const inputTokens: Endpoint = { kind: 'count-tokens', speech: responsesSpeech, method: 'POST', pathModel: null };
const countTokens: Endpoint = { kind: 'count-tokens', speech: messagesSpeech, method: 'POST', pathModel: null };

/**
 * Endpoints are known by the path's end, so that any provider's base URL works: `/v1`, `/openai/v1`, `/api/v1`, none, and
 * Azure's `/openai/deployments/{deployment}`. `path` comes without its query.
 */
export function endpointOf(path: string, headers: IncomingHttpHeaders): Endpoint {
  if (path.endsWith('/messages')) return messages;
  if (path.endsWith('/messages/count_tokens')) return countTokens;
  if (path.endsWith('/responses')) return responses;
  if (path.endsWith('/responses/input_tokens')) return inputTokens;
  const found = speechByEnd.find(([end]) => path.endsWith(end))?.[1];
  if (found !== undefined) return { kind: 'chat', speech: found, method: 'POST', pathModel: deploymentOf(path) };
  if (path.endsWith('/audio/voices')) return { kind: 'voices', speech: chatSpeech, method: 'GET', pathModel: null };
  if (path.includes(picturePath)) return { kind: 'picture', speech: chatSpeech, method: 'GET', pathModel: null };
  const speech = headers['anthropic-version'] === undefined ? chatSpeech : messagesSpeech;
  return modelsEndpoint(path, speech) ?? { kind: 'unknown', speech, method: 'POST', pathModel: null };
}

/** The list of models, or one of them; null for another path. */
export function modelsEndpoint(path: string, speech: Speech): Endpoint | null {
  if (path.endsWith('/models')) return { kind: 'models', speech, method: 'GET', pathModel: null };
  const one = /\/models\/([^/]+(?:\/[^/]+)*)$/.exec(path)?.[1];
  return one === undefined ? null : { kind: 'model', speech, method: 'GET', pathModel: uriText(one) };
}

/** The model of Azure's paths. */
function deploymentOf(path: string): string | null {
  const deployment = /\/deployments\/([^/]+)\//.exec(path)?.[1];
  return deployment === undefined ? null : uriText(deployment);
}
