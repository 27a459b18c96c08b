import type { Step } from '../answer-steps.ts';
import type { Answer } from '../compose-answer.ts';
import type { FaultSpec } from '../faults/fault-spec.ts';
import type { Prompt, ReadPrompt } from '../prompt.ts';
import type { ModelForm } from './list-models.ts';

/** Contents of an error body; each dialect has its own place for it. */
export interface ErrorWords {
  status: number;
  message: string;
  /** Null: the dialect's usual one for this status. */
  code: string | null;
  type: string | null;
  param: string | null;
}

/** A body that is not JSON. */
export interface Media {
  mediaType: string;
  body: string | Iterable<Step>;
}

/** One upstream dialect as the simulator speaks it, written from the published format and not from our decoders. */
export interface Speech {
  read: ReadPrompt;
  /** The JSON text of a whole answer. */
  whole(answer: Answer, prompt: Prompt, spec: FaultSpec): string;
  /** The same for other formats; null when this one is JSON. */
  media?(answer: Answer, prompt: Prompt, spec: FaultSpec): Media | null;
  /** Its `media` goes on forever when `endless` asks for it. */
  mediaLoops?: true;
  /** The same answer as SSE frames, with the pauses that the spec asks for. */
  frames(answer: Answer, prompt: Prompt, spec: FaultSpec): Generator<Step>;
  /** The answer of the endpoint that counts a request's tokens, where the dialect has one. */
  counted?(inputTokens: number): string;
  errorBody(words: ErrorWords, requestId: string): string;
  errorFrame(words: ErrorWords, requestId: string): string;
  /** Frames before the first delta of a healthy stream. */
  introFrames(prompt: Prompt): number;
  /** Frames that a stream without its terminal event leaves out. */
  finalParts: readonly ('finish' | 'usage' | 'done')[];
  requestIdHeader: string;
  /** Default: OpenAI's. */
  models?: ModelForm;
}
