import { isObject, type JsonValue, objectIn, stringOr } from '../../../kernel/json.ts';
import { addCount, reportedCount, reportsInvalidCount, type Usage } from '../../neutral/usage.ts';
import { usageOf } from '../transcription/openai.ts';
import type { RealtimeEvent } from './events.ts';

export interface TurnEnd {
  /** Null: no usage came. */
  usage: Usage | null;
  /** Word of the provider: `completed`, `cancelled`, `failed`, `incomplete`. */
  status: string;
}

/** The events by which what a session is charged for begins and ends. */
export interface TurnEvents {
  /** Type of the caller's event that asks for one. */
  requests: string;
  begins: string;
  ends: readonly string[];
  /** In one that begins or ends a turn; null: it has none. */
  idIn(event: RealtimeEvent): string | null;
  endIn(event: RealtimeEvent): TurnEnd;
  /** Events of a second model, which writes down speech: those that end it may have its usage. Null: there is none. */
  writtenDown: { begins: string; ends: readonly string[] } | null;
  /** Event by which the caller's side stops a turn; null: it ends without one. */
  cancel(id: string): RealtimeEvent | null;
}

const committed = 'input_audio_buffer.committed';
const transcribed = [
  'conversation.item.input_audio_transcription.completed',
  'conversation.item.input_audio_transcription.failed',
];

/** Responses of a model. */
export const responseTurns: TurnEvents = {
  requests: 'response.create',
  begins: 'response.created',
  ends: ['response.done'],
  idIn: ({ response }) => stringOr((response as { id?: unknown } | undefined)?.id, null),
  endIn({ response }) {
    const { usage, status } = response as { usage?: never; status?: unknown };
    return { usage: realtimeUsage(usage), status: stringOr(status, 'completed') };
  },
  writtenDown: { begins: committed, ends: transcribed },
  cancel: (id) => ({ type: 'response.cancel', response_id: id }),
};

/** Speech of the caller until it was silent, or until it committed it: each is transcribed separately. */
export const transcriptionTurns: TurnEvents = {
  requests: 'input_audio_buffer.commit',
  begins: committed,
  ends: transcribed,
  idIn: ({ item_id }) => stringOr(item_id, null),
  endIn: ({ type, usage }) => ({
    usage: usageOf(usage, null),
    status: type.endsWith('.failed') ? 'failed' : 'completed',
  }),
  writtenDown: null,
  cancel: () => null,
};

/** The usage that an event tells which ends `TurnEvents.writtenDown`; null: none. */
export function writtenDownUsage({ usage }: RealtimeEvent): Usage | null {
  return usageOf(usage, null);
}

/** The `usage` of a `response.done`; null when it holds no counts. */
function realtimeUsage(value: JsonValue | undefined): Usage | null {
  if (!isObject(value) || reportsInvalidCount(value, ['input_tokens', 'output_tokens'])) return null;
  const input = reportedCount(value.input_tokens);
  const output = reportedCount(value.output_tokens);
  if (input === null && output === null) return null;
  const usage: Usage = { inputTokens: input ?? 0, outputTokens: output ?? 0 };
  const of = objectIn(value.input_token_details);
  const cached = objectIn(of.cached_tokens_details);
  const made = objectIn(value.output_token_details);
  const counts = {
    cachedInputTokens: of.cached_tokens,
    audioInputTokens: of.audio_tokens,
    cachedAudioInputTokens: cached.audio_tokens,
    imageInputTokens: of.image_tokens,
    cachedImageInputTokens: cached.image_tokens,
    audioOutputTokens: made.audio_tokens,
    reasoningTokens: made.reasoning_tokens,
  } satisfies Partial<Record<keyof Usage, JsonValue | undefined>>;
  for (const [name, value] of Object.entries(counts)) addCount(usage, name as keyof typeof counts, value);
  return usage;
}
