import type { JsonObject } from '../../kernel/json.ts';

/** How a transcript can be asked for. */
export const transcriptFormats = ['json', 'text', 'srt', 'vtt', 'verbose_json', 'diarized_json'] as const;

export type TranscriptFormat = (typeof transcriptFormats)[number];

/** Parts of a transcript that have times; each level includes those before it. */
export type Timestamps = 'none' | 'segments' | 'words';

/** `transcribe`: in the language that is spoken; `translate`: in English. */
export type TranscriptionTask = 'transcribe' | 'translate';

/** A checked request for a transcript, between callers' forms and upstreams'; the file itself is elsewhere. */
export interface TranscriptionRequest {
  /** The alias as the caller wrote it. */
  model: string;
  task: TranscriptionTask;
  /** In the caller's spelling, such as `en`; null: to be detected. */
  language: string | null;
  prompt: string | null;
  format: TranscriptFormat;
  /** 0 to 1; null when not given. */
  temperature: number | null;
  /** Parts of the answer that need times. */
  timestamps: Timestamps;
  /** For `verbose_json`: the lists in the answer. */
  lists: { segments: boolean; words: boolean };
  stream: boolean;
  /** OpenAI's `include[]`, such as `logprobs`. */
  include: readonly string[];
  /** End-user id for ledger and log. */
  user: string | null;
  /** Unknown fields, for upstreams of OpenAI's format. */
  extra: readonly { name: string; value: string }[];
}

/** Facts of such a request for routing. */
export interface TranscriptionNeeds extends Pick<TranscriptionRequest, 'timestamps' | 'task'> {
  fileBytes: number;
  /** The answer must name speakers. */
  speakers: boolean;
}

/** A transcript. Values that the transcriber did not give are null. Times in seconds. */
export interface Transcript {
  text: string;
  /** In the upstream's own spelling: `en`, `english`. */
  language: string | null;
  durationS: number | null;
  segments: readonly TranscriptSegment[] | null;
  words: readonly TranscriptWord[] | null;
  /** The unchanged answer in OpenAI's format, with all its members; null when it came in another. */
  reported: JsonObject | null;
}

export interface TranscriptSegment {
  startS: number;
  endS: number;
  text: string;
  /** Absent: not given. */
  speaker?: string;
}

export interface TranscriptWord {
  word: string;
  startS: number;
  endS: number;
}
