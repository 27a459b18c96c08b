import { type CallerId, callerIds, type Delivery, deliveries, type UpstreamId, upstreamIds } from './formats.ts';

/** What the table of docs/dialects.md has a line for. */
export const features = {
  text: 'text',
  tools: 'a tool call and its result',
  'parallel-tools': 'parallel tool calls',
  'one-call': 'at most one call an answer',
  images: 'images',
  thinking: 'thinking shown when asked',
  'thinking-unasked': 'thinking aloud that nobody asked for',
  'thinking-tools': 'thinking beside tools, over turns',
  'structured-output': 'structured output (JSON Schema)',
  'narrowed-schema': 'structured output with bounds (`minimum`)',
  'stop-length': 'stop: token limit',
  'stop-string': 'stop: a stop string',
  'stop-filter': 'stop: held back by the provider',
  usage: 'usage, cached tokens too',
  errors: 'errors of the provider',
  'error-midway': 'an error within the answer',
  cut: 'an answer that is cut',
} as const;

export type FeatureId = keyof typeof features;
export const featureIds = Object.keys(features) as FeatureId[];

/** What a caller gets in one cell; `words` are the gateway's own. */
export type Verdict =
  | { kind: 'yes' }
  /** 400 with these words. */
  | { kind: 'refused'; words: string }
  /** Answered, with these words in `x-culvert-dropped`, and `so` is what is otherwise. */
  | { kind: 'lost'; words: string; so: string }
  /** Answered, and the provider's format tells less. */
  | { kind: 'differs'; so: string }
  /** The caller's format cannot ask for it. */
  | { kind: 'unsayable'; so: string };

export interface Cell {
  caller: CallerId;
  upstream: UpstreamId;
  feature: FeatureId;
  delivery: Delivery;
}

interface Exception {
  caller?: CallerId;
  notCaller?: CallerId;
  upstream?: UpstreamId;
  notUpstream?: UpstreamId;
  feature: FeatureId;
  delivery?: Delivery;
  verdict: Verdict;
}

/** Every cell that is no plain yes; the first that fits counts. */
const exceptions: readonly Exception[] = [
  {
    caller: 'anthropic-messages',
    upstream: 'gemini',
    feature: 'one-call',
    verdict: { kind: 'lost', words: 'tool_choice.disable_parallel_tool_use', so: 'several calls may come' },
  },
  {
    upstream: 'gemini',
    feature: 'one-call',
    verdict: { kind: 'lost', words: 'parallel_tool_calls', so: 'several calls may come' },
  },
  {
    caller: 'anthropic-messages',
    upstream: 'anthropic-messages',
    feature: 'thinking-unasked',
    verdict: {
      kind: 'differs',
      so: 'shown: the answer is passed on as it is (Anthropic itself thinks only when asked)',
    },
  },
  {
    notCaller: 'anthropic-messages',
    feature: 'thinking-unasked',
    verdict: { kind: 'differs', so: 'shown: the format has a place of its own for it, and its clients expect it' },
  },
  ...(['thinking', 'thinking-tools'] as const).map((feature) => ({
    caller: 'anthropic-messages' as const,
    notUpstream: 'anthropic-messages' as const,
    feature,
    verdict: {
      kind: 'lost' as const,
      words: 'thinking.budget_tokens',
      so: 'the budget becomes the nearest effort',
    },
  })),
  {
    caller: 'openai-chat',
    upstream: 'anthropic-messages',
    feature: 'thinking-tools',
    verdict: {
      kind: 'lost',
      words: 'reasoning_effort',
      so: "the turn after a tool's result is answered without thinking: Anthropic wants its signed thoughts back, and chat completions have no place for them",
    },
  },
  {
    caller: 'anthropic-messages',
    upstream: 'anthropic-messages',
    feature: 'narrowed-schema',
    verdict: { kind: 'unsayable', so: 'Anthropic refuses bounds in its own format' },
  },
  ...(['openai-chat', 'openai-responses'] as const).map((caller) => ({
    caller,
    upstream: 'anthropic-messages' as const,
    feature: 'narrowed-schema' as const,
    verdict: {
      kind: 'lost' as const,
      words: caller === 'openai-chat' ? 'response_format.json_schema.schema' : 'text.format.schema',
      so: 'the bounds are left out of the schema: Anthropic refuses them',
    },
  })),
  {
    caller: 'openai-responses',
    feature: 'stop-string',
    verdict: { kind: 'unsayable', so: 'Responses has no stop strings' },
  },
  {
    upstream: 'openai-responses',
    feature: 'stop-string',
    verdict: { kind: 'refused', words: 'The provider of this model knows no stop strings.' },
  },
  ...(['openai-chat', 'gemini'] as const).map((upstream) => ({
    caller: 'anthropic-messages' as const,
    upstream,
    feature: 'stop-string' as const,
    verdict: { kind: 'differs' as const, so: '`end_turn`: the provider does not tell that a stop string ended it' },
  })),
];

export function verdictOf(cell: Cell): Verdict {
  const found = exceptions.find(
    (one) =>
      one.feature === cell.feature &&
      (one.caller ?? cell.caller) === cell.caller &&
      one.notCaller !== cell.caller &&
      one.notUpstream !== cell.upstream &&
      (one.upstream ?? cell.upstream) === cell.upstream &&
      (one.delivery ?? cell.delivery) === cell.delivery,
  );
  return found?.verdict ?? { kind: 'yes' };
}

export function allCells(): Cell[] {
  return callerIds.flatMap((caller) =>
    upstreamIds.flatMap((upstream) =>
      featureIds.flatMap((feature) => deliveries.map((delivery) => ({ caller, upstream, feature, delivery }))),
    ),
  );
}
