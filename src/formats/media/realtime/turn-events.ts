import type { Usage } from '../../neutral/usage.ts';
import { usageOf } from '../transcription/openai.ts';
import type { RealtimeEvent } from './events.ts';
import { realtimeUsage } from './usage.ts';

/** End of a turn. */
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
  /** Event by which the caller's side stops a turn; null: it ends without one. */
  cancel(id: string): RealtimeEvent | null;
}

/** Responses of a model. */
export const responseTurns: TurnEvents = {
  requests: 'response.create',
  begins: 'response.created',
  ends: ['response.done'],
  idIn: ({ response }) => wordIn((response as { id?: unknown } | undefined)?.id),
  endIn({ response }) {
    const { usage, status } = response as { usage?: never; status?: unknown };
    return { usage: realtimeUsage(usage), status: wordIn(status) ?? 'completed' };
  },
  cancel: (id) => ({ type: 'response.cancel', response_id: id }),
};

/** Speech of the caller until it was silent, or until it committed it: each is transcribed separately. */
export const transcriptionTurns: TurnEvents = {
  requests: 'input_audio_buffer.commit',
  begins: 'input_audio_buffer.committed',
  ends: ['conversation.item.input_audio_transcription.completed', 'conversation.item.input_audio_transcription.failed'],
  idIn: ({ item_id }) => wordIn(item_id),
  endIn: ({ type, usage }) => ({
    usage: usageOf(usage, null),
    status: type.endsWith('.failed') ? 'failed' : 'completed',
  }),
  cancel: () => null,
};

function wordIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
