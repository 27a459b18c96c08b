import { chatSpeech } from './speak-chat.ts';
import { completionsSpeech } from './speak-completions.ts';
import { elevenLabsSpeech } from './speak-elevenlabs.ts';
import { cohereEmbedSpeech } from './speak-embed-cohere.ts';
import { geminiBatchEmbedSpeech, geminiEmbedSpeech } from './speak-embed-gemini.ts';
import { ollamaEmbedSpeech } from './speak-embed-ollama.ts';
import { teiEmbedSpeech } from './speak-embed-tei.ts';
import { embeddingsSpeech } from './speak-embeddings.ts';
import { geminiSpeech } from './speak-gemini.ts';
import { imageEditsSpeech, imagesSpeech, picturePath } from './speak-images.ts';
import { a1111Speech, fireworksImageSpeech, imagenSpeech } from './speak-images-elsewhere.ts';
import { messagesSpeech } from './speak-messages.ts';
import { moderationsSpeech } from './speak-moderations.ts';
import { cohereRerankSpeech, rerankSpeech } from './speak-rerank.ts';
import { responsesSpeech } from './speak-responses.ts';
import { soundSpeech } from './speak-sound.ts';
import { transcriptionSpeech, translationSpeech, whisperCppSpeech } from './speak-transcript.ts';
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
  /** The model that the path names: Azure's deployment, Google's model, or the one asked of `/models/{id}`. */
  pathModel: string | null;
}

const chat: Endpoint = { kind: 'chat', speech: chatSpeech, method: 'POST', pathModel: null };
const messages: Endpoint = { kind: 'messages', speech: messagesSpeech, method: 'POST', pathModel: null };
const responses: Endpoint = { kind: 'responses', speech: responsesSpeech, method: 'POST', pathModel: null };
const completions: Endpoint = { kind: 'chat', speech: completionsSpeech, method: 'POST', pathModel: null };
const moderations: Endpoint = { kind: 'chat', speech: moderationsSpeech, method: 'POST', pathModel: null };
const rerank: Endpoint = { kind: 'chat', speech: rerankSpeech, method: 'POST', pathModel: null };
const cohereRerank: Endpoint = { kind: 'chat', speech: cohereRerankSpeech, method: 'POST', pathModel: null };
const embeddings: Endpoint = { kind: 'chat', speech: embeddingsSpeech, method: 'POST', pathModel: null };
const cohereEmbed: Endpoint = { kind: 'chat', speech: cohereEmbedSpeech, method: 'POST', pathModel: null };
const ollamaEmbed: Endpoint = { kind: 'chat', speech: ollamaEmbedSpeech, method: 'POST', pathModel: null };
const teiEmbed: Endpoint = { kind: 'chat', speech: teiEmbedSpeech, method: 'POST', pathModel: null };
/** What a path's end asks for, where nothing else stands in it. The longer before the shorter. */
const mediaByEnd: readonly (readonly [end: string, speech: Speech])[] = [
  ['/audio/speech', soundSpeech],
  ['/audio/transcriptions', transcriptionSpeech],
  ['/audio/translations', translationSpeech],
  ['/inference', whisperCppSpeech],
  ['/images/generations', imagesSpeech],
  ['/images/edits', imageEditsSpeech],
  ['/sdapi/v1/txt2img', a1111Speech],
  ['/sdapi/v1/img2img', a1111Speech],
  ['/text_to_image', fireworksImageSpeech],
];
const inputTokens: Endpoint = { kind: 'count-tokens', speech: responsesSpeech, method: 'POST', pathModel: null };
const countTokens: Endpoint = { kind: 'count-tokens', speech: messagesSpeech, method: 'POST', pathModel: null };

/**
 * Endpoints are known by the path's end, so that any provider's base URL works: `/v1`, `/openai/v1`, `/api/v1`, none,
 * Azure's `/openai/deployments/{deployment}` and Google's `/models/{model}:{method}`. `path` comes without its query.
 */
export function endpointOf(path: string, version: ApiVersion): Endpoint {
  const called = googleCall(path);
  if (called !== null) {
    return { kind: 'chat', speech: speechOfGoogle[called.method], method: 'POST', pathModel: called.model };
  }
  if (path.endsWith('/chat/completions')) return { ...chat, pathModel: deploymentOf(path) };
  if (path.endsWith('/embeddings')) return { ...embeddings, pathModel: deploymentOf(path) };
  if (path.endsWith('/messages')) return messages;
  if (path.endsWith('/messages/count_tokens')) return countTokens;
  if (path.endsWith('/responses')) return responses;
  if (path.endsWith('/responses/input_tokens')) return inputTokens;
  if (path.endsWith('/completions')) return completions;
  if (path.endsWith('/moderations')) return moderations;
  if (path.endsWith('/v2/rerank')) return cohereRerank;
  if (path.endsWith('/rerank')) return rerank;
  if (path.endsWith('/v2/embed')) return cohereEmbed;
  if (path.endsWith('/api/embed')) return ollamaEmbed;
  if (path.endsWith('/embed')) return teiEmbed;
  const media = mediaByEnd.find(([end]) => path.endsWith(end))?.[1];
  if (media !== undefined) return { kind: 'chat', speech: media, method: 'POST', pathModel: deploymentOf(path) };
  if (path.includes('/text-to-speech/')) {
    return { kind: 'chat', speech: elevenLabsSpeech, method: 'POST', pathModel: null };
  }
  if (path.endsWith('/audio/voices')) return { kind: 'voices', speech: chatSpeech, method: 'GET', pathModel: null };
  if (path.includes(picturePath)) return { kind: 'picture', speech: chatSpeech, method: 'GET', pathModel: null };
  const speech = speechOf[version];
  if (path.endsWith('/models')) return { kind: 'models', speech, method: 'GET', pathModel: null };
  const one = /\/models\/([^/]+(?:\/[^/]+)*)$/.exec(path);
  if (one !== null) return { kind: 'model', speech, method: 'GET', pathModel: decoded(one[1]!) };
  return { kind: 'unknown', speech, method: 'POST', pathModel: null };
}

/** Which of the APIs that list their models at `/models` is spoken, by what marks their requests. */
export type ApiVersion = 'anthropic' | 'google' | 'openai';

const speechOf = { anthropic: messagesSpeech, google: geminiSpeech, openai: chatSpeech } as const;

const speechOfGoogle = {
  generateContent: geminiSpeech,
  streamGenerateContent: geminiSpeech,
  embedContent: geminiEmbedSpeech,
  batchEmbedContents: geminiBatchEmbedSpeech,
  predict: imagenSpeech,
} as const;
const googleMethods = Object.keys(speechOfGoogle).join('|');
const googlePath = new RegExp(`/(?:models|tunedModels)/(.+):(${googleMethods})$`);

/** What a path of Google's says that other APIs say in the body; null for another path. */
export function googleCall(
  path: string,
): { model: string; method: keyof typeof speechOfGoogle; stream: boolean } | null {
  const called = googlePath.exec(path);
  if (called === null) return null;
  const method = called[2] as keyof typeof speechOfGoogle;
  return { model: decoded(called[1]!), method, stream: method === 'streamGenerateContent' };
}

/** The model of Azure's paths. */
function deploymentOf(path: string): string | null {
  const deployment = /\/deployments\/([^/]+)\//.exec(path);
  return deployment === null ? null : decoded(deployment[1]!);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
