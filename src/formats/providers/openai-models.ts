import { type JsonObject, type JsonValue, objectIn } from '../../kernel/json.ts';
import type { FittedMembers } from '../dialects/forward-target.ts';
import { schemaOfJsonMode } from './answer-forms.ts';
import { lowToHigh, wordsOfOpenRouter } from './efforts.ts';
import { requiredForAny } from './forced-calls.ts';
import { inTurn, withAnswerMembers, withPicturesAsObjects, withPicturesBehindResults } from './histories.ts';
import { wordsOfMistral } from './openai-like.ts';
import type { ModelQuirks } from './provider.ts';

/** "Invalid 'tools': empty array": LangChain's class for Groq sends no texts to stop at as a list, others so no tools. */
function withoutEmptyLists({ stop, tools }: JsonObject): FittedMembers | null {
  const isEmpty = (value: JsonValue | undefined) => Array.isArray(value) && value.length === 0;
  const without = [
    ...(isEmpty(stop) ? ['stop'] : []),
    ...(isEmpty(tools) ? ['tools', 'tool_choice', 'parallel_tool_calls'] : []),
  ];
  return without.length === 0 ? null : { members: {}, without, losses: [] };
}

/** Sampling, with OpenAI's defaults, which lose nothing by going. */
const sampling = { temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0 };

/** "Unsupported parameter: 'temperature' is not supported with this model": while it reasons. */
function withoutSampling(body: JsonObject): FittedMembers | null {
  const effort = objectIn(body.reasoning).effort ?? body.reasoning_effort ?? 'none';
  if (effort === 'none') return null;
  const without = Object.keys(sampling).filter((name) => body[name] !== undefined);
  const lost = without.filter((name) => body[name] !== null && body[name] !== sampling[name as keyof typeof sampling]);
  const losses = lost.map((field) => ({ field, why: 'unsupported' as const }));
  return without.length === 0 ? null : { members: {}, without, losses };
}

/** "Unsupported parameter: 'stop' is not supported with this model." */
export const stopByResponses = /^(o[3-9]|gpt-([5-9]|\d\d)(?!.*-chat))/;

/** OpenAI's own models, by OpenAI or Azure. Words of effort: platform.openai.com/docs/guides/reasoning. */
export const modelsOfOpenAi: readonly ModelQuirks[] = [
  // "Unsupported parameter: 'max_tokens' … Use 'max_completion_tokens' instead": the o-series, GPT-5 and later.
  { pattern: /^(o\d|gpt-([5-9]|\d\d))/, rename: { max_tokens: 'max_completion_tokens' } },
  // Refuse sampling at all times; GPT-5.1 and later take it when they do not reason, so they keep it.
  {
    pattern: /^(o\d|gpt-5(-mini|-nano)?(-\d{4}|$)|gpt-[\d.]+-(pro|codex))/,
    omit: [...Object.keys(sampling), 'logprobs', 'top_logprobs', 'logit_bias'],
  },
  { pattern: /^gpt-(5\.\d|[6-9]|\d\d)(?!.*-chat)/, fits: [withoutSampling] },
  // "Unknown parameter: 'messages[1].reasoning_content'", or 'thinking'. Servers of open models have these members.
  {
    pattern: /^(gpt-(?!oss)|o\d|chatgpt|codex|ft:)/,
    omit: ['thinking'],
    functions: true,
    fitsInChat: [requiredForAny, withoutEmptyLists],
    fits: [schemaOfJsonMode],
    // The last is Groq's and Cerebras's.
    omitInChat: [...wordsOfOpenRouter, ...wordsOfMistral, 'reasoning_format'],
    rename: { random_seed: 'seed' },
    history: inTurn(
      withAnswerMembers('annotations', 'audio', 'refusal', 'function_call'),
      withPicturesAsObjects,
      withPicturesBehindResults,
    ),
  },
  { pattern: /^(o1-(mini|preview)|gpt-5-chat)/, efforts: [] },
  // "Supported values are: 'medium'."
  { pattern: /^gpt-5\.\d+-chat/, efforts: ['medium'] },
  { pattern: /^gpt-5-pro/, efforts: ['high'] },
  { pattern: /^gpt-5\.\d+-pro/, efforts: ['medium', 'high', 'xhigh'] },
  { pattern: /^(o\d|gpt-5-codex|gpt-5\.1-codex(?!-max))/, efforts: lowToHigh },
  { pattern: /^gpt-5(-mini|-nano)?(-\d{4}|$)/, efforts: ['minimal', ...lowToHigh] },
  { pattern: /^gpt-5\.1(-\d{4}|$)/, efforts: ['none', ...lowToHigh] },
  { pattern: /^gpt-5\./, efforts: ['none', ...lowToHigh, 'xhigh'] },
  { pattern: /^gpt-([6-9]|\d\d)/, efforts: ['none', ...lowToHigh, 'xhigh', 'max'] },
];
