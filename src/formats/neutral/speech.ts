import type { JsonObject } from '../../kernel/json.ts';

/** Formats of speech. `pcm` is s16le, mono, without a header; `opus` is in Ogg, `aac` in ADTS. */
export type AudioFormat = 'mp3' | 'wav' | 'opus' | 'flac' | 'pcm' | 'aac';

export const audioFormats: readonly AudioFormat[] = ['mp3', 'wav', 'opus', 'flac', 'pcm', 'aac'];

/** The voices that every model has in some form (api.md §4.5). */
export const standardVoices = ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer'] as const;

export type StandardVoice = (typeof standardVoices)[number];

/** The six as Kokoro has them, here and at a server (design §13). */
export const kokoroStandardVoices: Readonly<Record<StandardVoice, string>> = {
  alloy: 'af_alloy',
  echo: 'am_echo',
  fable: 'bm_fable',
  onyx: 'am_onyx',
  nova: 'af_nova',
  shimmer: 'af_bella',
};

/** A checked request for speech, between OpenAI's format and the upstreams'. */
export interface SpeechRequest {
  /** The alias as the caller wrote it. */
  model: string;
  input: string;
  /** Code points of the input, which are metered. */
  characters: number;
  voice: string;
  /** `id`: it was written as `{"id": …}`, a voice of the caller's own at OpenAI. */
  voiceKind: 'name' | 'id';
  format: AudioFormat;
  /** 0.25 to 4. */
  speed: number;
  instructions: string | null;
  /** Form of the answer: audio, or server-sent events that hold it in base64. */
  delivery: 'audio' | 'events';
  /** End-user id for ledger and log. */
  user: string | null;
  /** Unknown members, for upstreams of OpenAI's format. */
  extra: JsonObject;
}
