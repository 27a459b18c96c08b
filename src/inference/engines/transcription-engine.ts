/** What an engine is to write down. */
export interface SpokenFile {
  /** Whose turn it takes. */
  tenant: string;
  /** Where the sound lies, in whatever container its caller sent; it stays there until `transcribe` has ended. */
  path: string;
  /** ISO 639-1, such as `en`; null: the engine finds out. */
  language: string | null;
  /** Words that are likely to occur, or what was said before; null when nothing is known. An engine may ignore it. */
  prompt: string | null;
  /** `english`: what was said is given in English, whatever language it was said in. */
  task: 'as-spoken' | 'english';
  /** Whether `words` of each segment are wanted; an engine that cannot tell them leaves them null. */
  words: 'wanted' | 'not-needed';
  /** Aborted when nobody waits any more. */
  signal: AbortSignal;
}

/** Some seconds of what was said. Times in seconds from the beginning of the file, rising over segments. */
export interface TranscribedSegment {
  startS: number;
  endS: number;
  /** As it follows the segment before: a blank in front where words are set apart. */
  text: string;
  words: readonly TranscribedWord[] | null;
  /** ISO 639-1, or null when the engine does not know. */
  language: string | null;
}

export interface TranscribedWord {
  word: string;
  startS: number;
  endS: number;
}

/** A model in this process, or in a child of it, that writes down speech. Holds no state of a request; may be shared. */
export interface TranscriptionEngine {
  /** The upstream model id that targets name it by. */
  readonly model: string;
  /** Can give what was said in English. */
  readonly translates: boolean;
  /**
   * What was said, segment by segment as it is found. No segment: nothing was said. Throws when it cannot: before, or
   * between segments.
   */
  transcribe(file: SpokenFile): AsyncIterable<TranscribedSegment>;
}
