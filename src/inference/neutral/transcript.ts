import type { JsonObject } from '../../kernel/json.ts';

/** How a transcript can be asked for. */
export const transcriptFormats = ['json', 'text', 'srt', 'vtt', 'verbose_json', 'diarized_json'] as const;

export type TranscriptFormat = (typeof transcriptFormats)[number];

/** What of a transcript has times; each knows those before it. */
export type Timestamps = 'none' | 'segments' | 'words';

/** `transcribe`: in the language that is spoken; `translate`: in English. */
export type TranscriptionTask = 'transcribe' | 'translate';

/** A checked request for a transcript, between callers' forms and upstreams'; the file itself is elsewhere. */
export interface TranscriptionRequest {
  /** The alias as the caller wrote it. */
  model: string;
  task: TranscriptionTask;
  /** As the caller wrote it, such as `en`; null: to be found out. */
  language: string | null;
  prompt: string | null;
  format: TranscriptFormat;
  /** 0 to 1; null when nothing is said. */
  temperature: number | null;
  /** What the answer must have times of. */
  timestamps: Timestamps;
  /** Of `verbose_json`: which lists the answer has. */
  lists: { segments: boolean; words: boolean };
  stream: boolean;
  /** OpenAI's `include[]`, such as `logprobs`. */
  include: readonly string[];
  /** End-user id for ledger and log. */
  user: string | null;
  /** Fields that nobody here knows, for upstreams of OpenAI's format. */
  extra: readonly { name: string; value: string }[];
}

/** What routing must know of such a request. */
export interface TranscriptionNeeds extends Pick<TranscriptionRequest, 'timestamps' | 'task'> {
  fileBytes: number;
  /** Who said what must be told. */
  speakers: boolean;
}

/** What was said. What the one who wrote it down did not tell is null. Times in seconds. */
export interface Transcript {
  text: string;
  /** In the upstream's own spelling: `en`, `english`. */
  language: string | null;
  durationS: number | null;
  segments: readonly TranscriptSegment[] | null;
  words: readonly TranscriptWord[] | null;
  /** The answer in OpenAI's format as it came, with whatever else it holds; null when it came in another. */
  told: JsonObject | null;
}

export interface TranscriptSegment {
  startS: number;
  endS: number;
  text: string;
  /** Absent: not told. */
  speaker?: string;
}

export interface TranscriptWord {
  word: string;
  startS: number;
  endS: number;
}
