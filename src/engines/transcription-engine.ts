import type { TranscriptWord } from '../formats/neutral/transcript.ts';
import type { TimedText } from './audio/subtitles.ts';

/** An order to an engine to transcribe. */
export interface TranscriptionInput {
  /** Tenant whose turn it takes. */
  tenant: string;
  /** Path of the audio, in whatever container its caller sent; it stays there until `transcribe` has ended. */
  path: string;
  /** ISO 639-1, such as `en`; null: the engine finds out. */
  language: string | null;
  /** Words that are likely to occur, or the text before; null when nothing is known. An engine may ignore it. */
  prompt: string | null;
  /** `english`: a translation into English, whatever the spoken language is. */
  task: 'as-spoken' | 'english';
  /** Whether `words` of each segment are wanted; an engine without them leaves them null. */
  words: 'wanted' | 'not-needed';
  /** Aborted when nobody waits any more. */
  signal: AbortSignal;
}

/** Some seconds of a transcript. Times in seconds from the beginning of the file, rising over segments. */
export interface TranscribedSegment extends TimedText {
  /** Text that follows the segment before: with a blank in front when the language separates words. */
  text: string;
  words: readonly TranscriptWord[] | null;
  /** ISO 639-1, or null when the engine does not know. */
  language: string | null;
}

/** A model in this process, or in a child of it, that writes down speech. Holds no state of a request; may be shared. */
export interface TranscriptionEngine {
  /** The upstream model id that targets name it by. */
  readonly model: string;
  /** Can translate into English. */
  readonly translates: boolean;
  /**
   * The transcript, segment by segment as it is found. No segment: no speech. Throws when it fails: before, or between
   * segments.
   */
  transcribe(file: TranscriptionInput): AsyncIterable<TranscribedSegment>;
}
