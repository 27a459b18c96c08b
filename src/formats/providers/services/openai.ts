import { sameStandardVoices, unknownVoices } from '../../media/speech/voices.ts';
import { flatSchemas } from '../flat-schemas.ts';
import { imagesLikeOpenAi, imagesOfOpenAi } from '../image-models.ts';
import {
  openAiBatches,
  openAiEmbeddings,
  openAiLike,
  openAiRealtime,
  openAiSpeech,
  openAiTranscription,
  openAiVideos,
} from '../openai-like.ts';
import { modelsOfOpenAi, stopByResponses } from '../openai-models.ts';
import { openAiCaching } from '../prompt-caching.ts';

const olderVoices = ['alloy', 'ash', 'coral', 'echo', 'fable', 'nova', 'onyx', 'sage', 'shimmer'];

/** https://platform.openai.com/docs/api-reference */
export const openai = openAiLike({
  id: 'openai',
  title: 'OpenAI',
  prices: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  envKey: 'OPENAI_API_KEY',
  speaksToo: ['openai-responses'],
  // Codex with a login of ChatGPT sends these to chatgpt.com.
  callers: {
    proofs: ['authorization'],
    passes:
      /^(user-agent|originator|version|chatgpt-account-id|openai-(beta|organization|project)|session[-_]id|thread-id|conversation_id|x-client-request-id|x-(codex|stainless)-[a-z-]{1,60})$/,
    hidden: /^(chatgpt-account-id|openai-(organization|project))$/,
    limits: /^x-(codex|ratelimit)-[a-z\d-]{1,80}$/,
  },
  keepsResponses: true,
  // "Function tools with reasoning_effort are not supported … in /v1/chat/completions", also where nobody sets it.
  toolsByResponses: /^gpt-(5\.([4-9]|\d\d)|[6-9]|\d\d)/,
  stopByResponses,
  quirks: {
    fits: [flatSchemas],
    omitConverted: ['top_k'],
    // The last: servers of open models that are configured as OpenAI's.
    models: [...modelsOfOpenAi, { pattern: /^(?!gpt-|o\d|chatgpt|codex|ft:)/, systemFirst: true }],
  },
  forwards: { completions: '/completions', decisions: '/decisions', moderations: '/moderations' },
  forwardsElsewhere: { rerank: '/rerank' },
  promptCaching: openAiCaching,
  embeds: {
    ...openAiEmbeddings,
    batch: 2_048,
    // 300,000 by its own count, which ours may miss by half.
    batchTokens: 150_000,
    takesTokens: true,
    inputType: 'refused',
    dimensions: /text-embedding-3/,
    encoding: 'base64',
    takesUser: true,
  },
  embedsElsewhere: { batch: 256, dimensions: 'asked', encoding: 'asked', inputType: undefined },
  images: imagesOfOpenAi,
  imagesElsewhere: imagesLikeOpenAi,
  videos: { ...openAiVideos, models: /sora/ },
  videosElsewhere: openAiVideos,
  speech: {
    ...openAiSpeech,
    // Their sound costs by the token, which the events alone report. tts-1 has none.
    events: /^gpt-/,
    voices: [
      { models: /^tts-1/, names: olderVoices, standard: sameStandardVoices },
      { names: [...olderVoices, 'ballad', 'verse', 'marin', 'cedar'], standard: sameStandardVoices },
    ],
  },
  transcription: {
    ...openAiTranscription,
    translates: /whisper/,
    containers: ['flac', 'mp3', 'mp4', 'm4a', 'ogg', 'oga', 'opus', 'wav', 'webm'],
    fileBytesMax: 25 * 1024 * 1024,
  },
  transcriptionElsewhere: openAiTranscription,
  // https://platform.openai.com/docs/guides/realtime-transcription
  realtime: { ...openAiRealtime, transcriptions: '/realtime?intent=transcription' },
  // https://platform.openai.com/docs/guides/batch
  batches: openAiBatches('/chat/completions', '/responses', '/embeddings', '/completions', '/moderations'),
  speechElsewhere: { voices: [unknownVoices], voiceList: '/audio/voices', events: undefined },
  tooLong: [
    // vLLM, DeepSeek and OpenRouter took over the words.
    /maximum context length (?:is|of) (?<most>\d+) tokens.*?(?:resulted in|requested|contains|has)(?: about)?(?: at least)?(?: a total of)? (?<sent>\d+)/is,
    // More than the tokens of a minute: no wait helps.
    /request too large for .{1,200}? tokens per min.{1,80}?limit:? (?<most>\d+), requested:? (?<sent>\d+)/is,
    /\bcontext_(?:length|window)_exceeded\b|maximum context length/i,
    /context[ _](?:length|window)[^.]*exceed|exceeds?[^.]*(?:context (?:length|window|size)|maximum context)/i,
    /reduce the length of (?:the|your) (?:messages|input|prompt)|input is too long/i,
    /invalid '(?:messages|input)[^']{0,80}': string too long/i,
  ],
  errors: [
    // It is about the key's project: another target may have the model.
    { status: 403, code: /\bmodel\b/i, class: 'model_unavailable' },
    // A model that chats, asked to continue a text.
    { status: 404, code: /not supported in the v1\/completions/i, class: 'caller_fault' },
    // The body refers to something, and the error has no param.
    { status: 404, code: /\b(file|response|conversation)\b.{0,80}\bnot found/i, class: 'caller_fault' },
  ],
});
