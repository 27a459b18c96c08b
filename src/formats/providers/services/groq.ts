import { isObject } from '../../../kernel/json.ts';
import { unknownVoices } from '../../media/speech/voices.ts';
import { schemaOfJsonMode } from '../answer-forms.ts';
import { withoutMarks } from '../cache-marks.ts';
import { lowToHigh } from '../efforts.ts';
import { inTurn, withAnswerMembers, withThoughtsAsReasoning } from '../histories.ts';
import {
  hintsForOpenAi,
  openAiBatches,
  openAiLike,
  openAiSpeech,
  openAiTranscription,
  wordsOfMistral,
} from '../openai-like.ts';

/** https://console.groq.com/docs/openai: answers 400 to the omitted fields, and to `n` other than 1. */
export const groq = openAiLike({
  id: 'groq',
  title: 'Groq',
  prices: 'groq',
  baseUrl: 'https://api.groq.com/openai/v1',
  envKey: 'GROQ_API_KEY',
  quirks: {
    omitConverted: ['top_k'],
    // "property 'reasoning_content' is unsupported"; its own models give `reasoning`.
    history: inTurn(withThoughtsAsReasoning, withAnswerMembers('reasoning', 'function_call')),
    omit: ['logprobs', 'top_logprobs', 'logit_bias', 'thinking'],
    // "property 'prompt_cache_key' is unsupported".
    omitInChat: ['reasoning', 'metadata', 'prompt_cache_key', ...wordsOfMistral, ...hintsForOpenAi],
    rename: { random_seed: 'seed' },
    fits: [withoutMarks, schemaOfJsonMode],
    nativeN: false,
    files: false,
    logprobs: false,
    // https://console.groq.com/docs/reasoning
    models: [
      { pattern: /^qwen3/, efforts: ['none', 'default'] },
      { pattern: /^gpt-oss/, efforts: lowToHigh },
    ],
  },
  // https://console.groq.com/docs/text-to-speech
  speech: {
    ...openAiSpeech,
    outputs: ['wav'],
    voices: [
      {
        models: /orpheus.*arabic/,
        names: ['fahad', 'sultan', 'lulwa', 'noura'],
        standard: { alloy: 'lulwa', echo: 'fahad', fable: 'sultan', onyx: 'sultan', nova: 'noura', shimmer: 'lulwa' },
      },
      {
        models: /orpheus/,
        names: ['autumn', 'diana', 'hannah', 'austin', 'daniel', 'troy'],
        standard: { alloy: 'hannah', echo: 'austin', fable: 'daniel', onyx: 'troy', nova: 'diana', shimmer: 'autumn' },
      },
      unknownVoices,
    ],
    speed: 'not taken',
    instructions: 'not taken',
  },
  // https://console.groq.com/docs/speech-to-text
  transcription: {
    ...openAiTranscription,
    translates: /whisper-large-v3$/,
    containers: ['flac', 'mp3', 'mp4', 'm4a', 'ogg', 'oga', 'opus', 'wav', 'webm'],
    fileBytesMax: 100 * 1024 * 1024,
  },
  // https://console.groq.com/docs/batch
  batches: openAiBatches('/chat/completions'),
  // A stream tells it there, whether it was asked to or not.
  usageOf: ({ usage, x_groq: extension }) => usage ?? (isObject(extension) ? extension.usage : undefined),
  errors: [
    // "Flex tier capacity exceeded": the only custom status of the API.
    { status: 498, class: 'rate_limited' },
    // More tokens than a minute allows: no wait helps.
    { status: 413, class: 'too_long' },
    { status: 400, code: 'model_decommissioned', class: 'model_unavailable' },
    { status: 403, code: /model_permission_blocked/, class: 'model_unavailable' },
  ],
});
