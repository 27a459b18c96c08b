/** The formats in which speech can be asked for. `pcm` is s16le, mono, without any header. */
export type SpeechFormat = 'mp3' | 'opus' | 'flac' | 'aac' | 'wav' | 'pcm';

/** Sample rate of speech, by the contract. */
export const speechRateHz = 24_000;

/** Content-Type of an answer in this format. */
export const mimeOfSpeech: Readonly<Record<SpeechFormat, string>> = {
  mp3: 'audio/mpeg',
  // Opus is in an Ogg container; `audio/opus` is RTP's name for it without one.
  opus: 'audio/ogg',
  flac: 'audio/flac',
  aac: 'audio/aac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
};
