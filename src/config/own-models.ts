/** The provider that nobody configures: models of the gateway's own process. */
export const ownProvider = 'culvert';

/** What targets may name there: what is always there, what the system's programs do, what `culvert add` brings. */
export const ownModels: readonly string[] = [
  'culvert-lexical-1024',
  'espeak-ng',
  'bge-m3',
  'multilingual-e5-large',
  'kokoro-82m',
  'whisper-base',
  'whisper-large-v3-turbo',
];
