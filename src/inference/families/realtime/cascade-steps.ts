import type { Failure } from '../../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import type { ModelCall } from '../../spine/model-call.ts';

/** For whom a step is done, and until when it is wanted. */
export interface StepOrder {
  /** The call that opened the session. */
  call: ModelCall;
  signal: AbortSignal;
}

/**
 * The steps of a cascade: calls of other families, each held, routed and charged as if the caller had made it. A Failure
 * says why there is no result, or none to its end; an aborted one has none either.
 */
export interface CascadeSteps {
  /** The words in a WAV file. `hints`: fields of a transcription's form. */
  transcribe(
    order: StepOrder,
    model: string,
    wav: Buffer,
    hints: Readonly<Record<string, string>>,
  ): Promise<string | Failure>;
  /** A streamed chat completion; `onChunk` gets each of its chunks. Null: it is whole. */
  chat(order: StepOrder, body: JsonObject, onChunk: (chunk: JsonObject) => void): Promise<Failure | null>;
  /** PCM of 24 kHz as it is made. */
  speak(order: StepOrder, body: JsonObject, onSound: (sound: Buffer) => void): Promise<Failure | null>;
  /** Why a model cannot speak in a voice; null: it can, or it turns out when it speaks. */
  voiceRefusal(call: ModelCall, requested: { model: string; voice: JsonValue }): Failure | null;
}
