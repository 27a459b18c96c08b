import type { FeatureId } from './features.ts';
import { features } from './features.ts';
import { type CallerId, callerIds, type Delivery, deliveries, type UpstreamId, upstreamIds } from './formats.ts';

/** A caller's result in one cell. */
export type Verdict =
  | { kind: 'yes' }
  /** 400 with these words; `{model}` stands for the alias. */
  | { kind: 'refused'; words: string }
  /** Answered, with these words in `x-culvert-dropped`; `so` is what that means. */
  | { kind: 'lost'; words: string; so: string }
  /** Answered, in another way than over the caller's own format. */
  | { kind: 'differs'; so: string };

export interface Cell {
  caller: CallerId;
  upstream: UpstreamId;
  feature: FeatureId;
  delivery: Delivery;
}

const refused = (words: string): Verdict => ({ kind: 'refused', words });
const lost = (words: string, so: string): Verdict => ({ kind: 'lost', words, so });
const incapable = (need: string): Verdict =>
  refused(`No target of the model '{model}' can do what this request asks for: {target} (${need}).`);
const differs = (so: string): Verdict => ({ kind: 'differs', so });

const chat = 'openai-chat';
const messages = 'anthropic-messages';
const responses = 'openai-responses';

/** Feature, callers, upstreams and the result: every cell that is not a plain yes. The first that fits counts. */
type Exception = readonly [FeatureId, CallerId | 'any', UpstreamId | 'any', Verdict];

const exceptions: readonly Exception[] = [
  ['one-call', messages, 'gemini', lost('tool_choice.disable_parallel_tool_use', 'several calls may come')],
  ['one-call', 'any', 'gemini', lost('parallel_tool_calls', 'several calls may come')],

  ...callerIds.map((same): Exception => ['unknown-field', same, same, { kind: 'yes' }]),
  ['unknown-field', 'gemini', 'any', lost('generationConfig.madeUp', 'not sent')],
  ['unknown-field', 'any', 'any', lost('madeUp', 'not sent')],

  ['images-by-url', 'gemini', 'gemini', { kind: 'yes' }],
  ['images-by-url', 'any', 'gemini', differs('fetched here, and sent inline')],

  ['thinking', messages, messages, { kind: 'yes' }],
  ['thinking', messages, 'any', lost('thinking.budget_tokens', 'the budget becomes the nearest effort')],
  ['thinking-tools', messages, messages, { kind: 'yes' }],
  ['thinking-tools', messages, 'any', lost('thinking.budget_tokens', 'the budget becomes the nearest effort')],
  [
    'thinking-unasked',
    messages,
    messages,
    differs('shown: the bytes pass as they are (Anthropic thinks only when asked)'),
  ],
  ['thinking-unasked', 'gemini', 'gemini', differs('shown: the bytes pass as they are')],
  ['thinking-unasked', messages, 'any', { kind: 'yes' }],
  ['thinking-unasked', 'gemini', 'any', { kind: 'yes' }],
  ['thinking-unasked', 'any', 'any', differs('shown, in the place that the format has for it')],

  [
    'narrowed-schema',
    chat,
    messages,
    lost('response_format.json_schema.schema', 'without the bounds, which Anthropic refuses'),
  ],
  ['narrowed-schema', responses, messages, lost('text.format.schema', 'without the bounds, which Anthropic refuses')],

  ['end-user', messages, 'gemini', lost('metadata.user_id', 'the provider has no place for it; the ledger has it')],
  ['end-user', 'any', 'gemini', lost('user', 'the provider has no place for it; the ledger has it')],

  ['logprobs', 'any', messages, incapable('logprobs')],
  ['logprobs', 'gemini', 'gemini', { kind: 'yes' }],
  ['logprobs', 'any', 'gemini', refused('The provider of this model gives no log probabilities.')],
  ['seed', 'gemini', messages, lost('generationConfig.seed', 'not sent')],
  ['seed', 'gemini', responses, lost('generationConfig.seed', 'not sent')],
  ['seed', chat, messages, lost('seed', 'not sent')],
  ['seed', chat, responses, lost('seed', 'not sent')],
  ['audio', 'any', messages, refused('Audio input is not supported by the provider of this model.')],
  ['audio', 'gemini', responses, refused("'contents[0].parts' holds audio, which no provider of this model accepts.")],
  ['audio', chat, responses, refused("'messages[0].content' holds audio, which no provider of this model accepts.")],

  ['cache-marks', messages, messages, { kind: 'yes' }],
  ['cache-marks', messages, 'any', lost('cache_control', 'not sent')],
  ['server-tools', 'gemini', 'gemini', { kind: 'yes' }],
  [
    'server-tools',
    'gemini',
    'any',
    refused(
      "Only Google runs 'tools[0].googleSearch', and no Google target of this model is left. Leave the tool out.",
    ),
  ],
  ['server-tools', responses, responses, { kind: 'yes' }],
  ['server-tools', responses, 'any', lost('tools.web_search', 'not sent')],
  ['server-tools', messages, messages, { kind: 'yes' }],
  ['server-tools', messages, 'any', lost('tools.web_search_20250305', 'not sent')],

  ['kept-history', responses, 'any', { kind: 'yes' }],

  [
    'narrowed-schema',
    'gemini',
    messages,
    lost('generationConfig.responseSchema', 'without the bounds, which Anthropic refuses'),
  ],
  ['stop-string', messages, chat, differs('`end_turn`: the provider does not tell that a stop string ended it')],
  ['stop-string', messages, 'gemini', differs('`end_turn`: the provider does not tell that a stop string ended it')],
];

export function verdictOf({ feature, caller, upstream }: Cell): Verdict {
  const found = exceptions.find(
    ([of, by, over]) => of === feature && (by === 'any' || by === caller) && (over === 'any' || over === upstream),
  );
  return found?.[3] ?? { kind: 'yes' };
}

/** Every cell that can be asked for. */
export function allCells(): Cell[] {
  return features.flatMap(({ id, callers }) =>
    callerIds
      .filter((caller) => callers.includes(caller))
      .flatMap((caller) =>
        upstreamIds.flatMap((upstream) => deliveries.map((delivery) => ({ caller, upstream, feature: id, delivery }))),
      ),
  );
}
