import type { IncomingHttpHeaders } from 'node:http';
import { uriText } from '../../src/kernel/web/uri-text.ts';
import { type Endpoint, modelsEndpoint } from '../../src/simulator/endpoints/endpoint.ts';
import { chatSpeech } from '../../src/simulator/endpoints/speak-chat.ts';
import { messagesSpeech } from '../../src/simulator/endpoints/speak-messages.ts';
import type { Speech } from '../../src/simulator/endpoints/speech.ts';
import { bedrockEndpoint } from './speak-bedrock.ts';
import { cohereChatSpeech } from './speak-cohere.ts';
import { elevenLabsSpeech } from './speak-elevenlabs.ts';
import { cohereEmbedSpeech } from './speak-embed-cohere.ts';
import { geminiBatchEmbedSpeech, geminiEmbedSpeech } from './speak-embed-gemini.ts';
import { ollamaEmbedSpeech } from './speak-embed-ollama.ts';
import { teiEmbedSpeech } from './speak-embed-tei.ts';
import { geminiSpeech } from './speak-gemini.ts';
import { a1111Speech, fireworksImageSpeech, imagenSpeech } from './speak-images-elsewhere.ts';
import { mistralSpeech } from './speak-mistral.ts';
import { googleChatSpeech, liteLlmSpeech, openRouterSpeech } from './speak-proven-chat.ts';
import { cohereRerankSpeech } from './speak-rerank-cohere.ts';
import { mixedbreadRerankSpeech } from './speak-rerank-mixedbread.ts';
import { teiRerankSpeech } from './speak-rerank-tei.ts';
import { vertexContentSpeech, vertexListSpeech, vertexMessagesSpeech, vertexPredictSpeech } from './speak-vertex.ts';
import { whisperCppSpeech } from './speak-whispercpp.ts';

/** By the path's end; the longer before the shorter. */
const speechByEnd: readonly (readonly [end: string, speech: Speech])[] = [
  ['/openrouter/v1/chat/completions', openRouterSpeech],
  ['/litellm/v1/chat/completions', liteLlmSpeech],
  ['/v1beta/openai/chat/completions', googleChatSpeech],
  ['/v2/chat', cohereChatSpeech],
  // Writer.
  ['/chat', chatSpeech],
  ['/v2/rerank', cohereRerankSpeech],
  ['/rerank', teiRerankSpeech],
  ['/reranking', mixedbreadRerankSpeech],
  // DashScope.
  ['/reranks', cohereRerankSpeech],
  ['/mistral/v1/audio/speech', mistralSpeech],
  ['/v2/embed', cohereEmbedSpeech],
  ['/api/embed', ollamaEmbedSpeech],
  ['/embed', teiEmbedSpeech],
  ['/inference', whisperCppSpeech],
  ['/sdapi/v1/txt2img', a1111Speech],
  ['/sdapi/v1/img2img', a1111Speech],
  ['/text_to_image', fireworksImageSpeech],
];

const speechOfGoogle: Readonly<Record<string, Speech>> = {
  generateContent: geminiSpeech,
  streamGenerateContent: geminiSpeech,
  embedContent: geminiEmbedSpeech,
  batchEmbedContents: geminiBatchEmbedSpeech,
  predict: imagenSpeech,
};
const googlePath = new RegExp(`/(?:models|tunedModels)/(.+):(${Object.keys(speechOfGoogle).join('|')})$`);

/** Formats of upstreams that the product's simulator lacks: Google's and those of single services. */
export function otherFormats(target: string, headers: IncomingHttpHeaders): Endpoint | null {
  const url = new URL(target, 'http://mock');
  const path = target.split('?', 1)[0]!;
  const vertex = vertexEndpoint(path);
  if (vertex !== null) return vertex;
  const google = googlePath.exec(path);
  if (google !== null) {
    const [, model = '', method = ''] = google;
    const endpoint = asking(speechOfGoogle[method]!, uriText(model));
    return method === 'streamGenerateContent' ? { ...endpoint, urlMembers: { stream: true } } : endpoint;
  }
  const bedrock = bedrockEndpoint(path);
  if (bedrock !== null) return bedrock;
  const [, endpointName, streamed] = sageMakerPath.exec(path) ?? [];
  if (endpointName !== undefined) {
    const endpoint = asking(containerSpeech, uriText(endpointName));
    return streamed === undefined ? endpoint : { ...endpoint, urlMembers: { stream: true } };
  }
  const speech = speechByEnd.find(([end]) => path.endsWith(end))?.[1];
  if (speech !== undefined) return asking(speech, null);
  if (path.includes('/text-to-speech/')) {
    const format = url.searchParams.get('output_format');
    return { ...asking(elevenLabsSpeech, null), ...(format !== null && { urlMembers: { output_format: format } }) };
  }
  return headers['x-goog-api-key'] === undefined ? null : modelsEndpoint(path, geminiSpeech);
}

const sageMakerPath = /\/endpoints\/([^/]+)\/invocations(-response-stream)?$/;

/** A container of SageMaker, as it is behind AWS's wire: it runs one model, which requests do not name. */
const containerSpeech: Speech = {
  ...chatSpeech,
  read: (body, pathModel) =>
    'model' in body
      ? { refused: `The model '${body.model}' does not exist.`, param: 'model' }
      : chatSpeech.read(body, pathModel),
};

const vertexPath = /\/publishers\/(\w+)\/models\/([^/]+):(\w+)$/;

/** Differences of Vertex AI from Google's other API; null when there are none. */
function vertexEndpoint(path: string): Endpoint | null {
  if (path.endsWith('/publishers/google/models')) return modelsEndpoint(path, vertexListSpeech);
  const [, publisher, coded = '', method] = vertexPath.exec(path) ?? [];
  const model = uriText(coded);
  const streams = method === 'streamRawPredict';
  if (streams || method === 'rawPredict') {
    if (model === 'count-tokens') return { ...asking(messagesSpeech, null), kind: 'count-tokens' };
    const speech = publisher === 'anthropic' ? vertexMessagesSpeech : chatSpeech;
    return { ...asking(speech, model), ...(streams && { urlMembers: { stream: true } }) };
  }
  if (publisher !== 'google') return null;
  if (method === 'countTokens') return { ...asking(geminiSpeech, null), kind: 'count-tokens' };
  if (method === 'embedContent') return asking(vertexContentSpeech, model);
  return method === 'predict' && model.includes('embedding') ? asking(vertexPredictSpeech, model) : null;
}

function asking(speech: Speech, pathModel: string | null): Endpoint {
  return { kind: 'chat', speech, method: 'POST', pathModel };
}
