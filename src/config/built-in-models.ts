/** The provider that nobody configures: models of the gateway's own process. */
export const builtInProvider = 'culvert';

/** Models that targets may name there: built-in ones, those of the system's programs and of `culvert add`. */
export const builtInModels: readonly string[] = (
  'culvert-lexical-1024 espeak-ng bge-m3 multilingual-e5-large kokoro-82m whisper-base ' + 'whisper-large-v3-turbo'
).split(' ');
