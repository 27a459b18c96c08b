/**
 * Wire of Vercel's AI Gateway, which carries the calls of the AI SDK: `LanguageModelV4CallOptions` and its answers
 * (@ai-sdk/gateway 4.0, @ai-sdk/provider 4.0), and the same of versions 2 and 3, which earlier SDKs send.
 */
export type Version = 2 | 3 | 4;

/** Name of this dialect, and of this gateway's object among `providerOptions` and `providerMetadata`. */
export const vendor = 'ai-sdk';
export const ours = 'culvert';

/** The version that a header names; 4 where it names none that is known. */
export function versionOf(word: string | undefined): Version {
  return word === '2' ? 2 : word === '3' ? 3 : 4;
}
