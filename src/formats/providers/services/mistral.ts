import type { FitMembers } from '../../dialects/forward-target.ts';
import { schemaOfJsonMode } from '../answer-forms.ts';
import { withoutMarks } from '../cache-marks.ts';
import { lowToHigh, wordsOfOpenRouter } from '../efforts.ts';
import {
  inTurn,
  withAnswerMembers,
  withoutNames,
  withShortCallIds,
  withSystemForDeveloper,
  withThoughtsAsParts,
} from '../histories.ts';
import { hintsForOpenAi, openAiBatches, openAiEmbeddings, openAiLike, openAiTranscription } from '../openai-like.ts';

/** It continues texts by its endpoint for fill in the middle alone, which needs no suffix. */
const fim = '/fim/completions';
const fimMembers = () => ({
  omit: ['user', 'logit_bias', 'frequency_penalty', 'presence_penalty'],
  rename: { seed: 'random_seed' },
});

/** https://docs.mistral.ai/inference/priority-tier: it takes two words, and refuses OpenAI's. */
const tiers: FitMembers = ({ service_tier: tier }) => {
  if (typeof tier !== 'string' || tier === 'auto' || tier === 'standard_only') return null;
  if (tier === 'default') return { members: { service_tier: 'standard_only' }, losses: [] };
  return { members: {}, without: ['service_tier'], losses: [{ field: 'service_tier', why: 'unsupported' }] };
};

const [jane, paul] = ['gb_jane_neutral', 'en_paul_neutral'];
const mistralVoices = { alloy: jane, nova: jane, shimmer: jane, echo: paul, fable: paul, onyx: paul };

const answers = withAnswerMembers('prefix', 'thinking');
const history = inTurn(withSystemForDeveloper, answers, withoutNames, withShortCallIds);

/**
 * https://docs.mistral.ai/api. The body is checked strictly: a field it does not know is 422 `extra_forbidden`.
 * Usage comes with every stream, unasked.
 */
export const mistral = openAiLike({
  id: 'mistral',
  title: 'Mistral',
  prices: 'mistral',
  baseUrl: 'https://api.mistral.ai/v1',
  envKey: 'MISTRAL_API_KEY',
  // https://docs.mistral.ai/api/endpoint/ocr
  forwards: { completions: fim, fim, moderations: '/moderations', ocr: '/ocr' },
  forwardBodies: { completions: fimMembers, fim: fimMembers },
  // It takes 16,384 tokens over all inputs of a call.
  embeds: {
    ...openAiEmbeddings,
    batchTokens: 8_192,
    inputType: 'refused',
    dimensions: /codestral-embed/,
    dimensionsField: 'output_dimension',
  },
  // https://docs.mistral.ai/capabilities/batch
  batches: { ...openAiBatches('/chat/completions', '/embeddings', '/moderations', '/ocr'), format: 'mistral' },
  // https://docs.mistral.ai/capabilities/audio_transcription
  transcription: {
    ...openAiTranscription,
    paths: { transcribe: '/audio/transcriptions', translate: null },
    timestamps: 'segments',
    granularitiesField: 'timestamp_granularities',
    diarizes: /^voxtral/,
    diarizeField: 'diarize',
    keywordsField: 'context_bias',
    omit: ['response_format', 'prompt', 'include[]'],
  },
  // https://docs.mistral.ai/studio/audio/text-to-speech. Its PCM has floats for samples: a wav says so itself.
  speech: {
    format: 'mistral',
    path: '/audio/speech',
    outputs: ['mp3', 'wav', 'opus', 'flac'],
    voices: [{ names: [jane, paul], others: 'any', standard: mistralVoices }],
    speed: 'not taken',
    instructions: 'not taken',
  },
  // https://docs.mistral.ai/capabilities/reasoning
  listsThoughts: (model, thinks) => thinks || /^magistral/.test(model),
  quirks: {
    fits: [withoutMarks, schemaOfJsonMode, tiers],
    omitConverted: ['top_k'],
    omit: ['logprobs', 'top_logprobs', 'logit_bias', 'user', 'modalities', 'audio', 'thinking'],
    omitInChat: [...wordsOfOpenRouter, 'reasoning_format', ...hintsForOpenAi],
    rename: { max_completion_tokens: 'max_tokens', seed: 'random_seed' },
    // https://docs.mistral.ai/capabilities/reasoning/adjustable
    models: [
      { pattern: /^mistral-large-4/, efforts: lowToHigh },
      { pattern: /^mistral-(small-(latest|26)|medium-3-5)/, efforts: ['none', 'high'] },
      {
        pattern: /^(magistral|mistral-(large-4|small-(latest|26)|medium-3-5))/,
        history: inTurn(withThoughtsAsParts, history),
      },
      { pattern: /(?:)/, history },
    ],
    streamUsage: false,
    logprobs: false,
  },
  tooLong: [/prompt contains (?<sent>\d+) tokens.*?too large for model with (?<most>\d+) maximum context length/is],
  errors: [
    { status: 400, code: /invalid model|unknown_model/i, class: 'model_unavailable' },
    { status: 403, code: /model|subscription/i, class: 'model_unavailable' },
    { status: 429, code: /capacity exceeded/i, class: 'transient' },
  ],
});
