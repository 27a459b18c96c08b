import { engineFailed } from './engine-error.ts';
import type { Espeak } from './espeak.ts';

/** Kept unchanged: Kokoro was taught them. */
const marks = /([;:,.!?¡¿—…"«»“”(){}[\]]+)/;

/** By the first letter of a voice: what espeak-ng calls its language. */
const languages: Readonly<Record<string, string>> = {
  a: 'en-us',
  b: 'en-gb',
  e: 'es',
  f: 'fr-fr',
  h: 'hi',
  i: 'it',
  p: 'pt-br',
};

/** The speller, and the tenant whose turn it takes. */
export interface Speller {
  espeak: Espeak;
  tenant: string;
}

/**
 * A sentence as Kokoro reads it: phonemes of the system's espeak-ng between the sentence's own marks, with the spelling
 * of misaki, which Kokoro was trained with, where it differs.
 */
export async function phonemesOf(
  speller: Speller,
  sentence: string,
  voice: string,
  signal: AbortSignal,
): Promise<string> {
  const letter = voice[0] ?? '';
  const language = languages[letter];
  if (language === undefined) throw engineFailed(`there are no phonemes for the voice '${voice}'`);
  const parts = sentence.replaceAll(/[‘’]/g, "'").split(marks);
  const phrases = parts.filter((part, at) => at % 2 === 0 && /[\p{L}\p{N}]/u.test(part));
  if (phrases.length === 0) return '';
  const spelled = await phonemesOfAll(speller, language, phrases, signal);
  const joined = parts
    .map((part, at) => {
      if (at % 2 === 1) return part;
      if (!/[\p{L}\p{N}]/u.test(part)) return part === '' ? '' : ' ';
      return `${/^\s/.test(part) ? ' ' : ''}${spelled.shift() ?? ''}${/\s$/.test(part) ? ' ' : ''}`;
    })
    .join('');
  return kokoroPhonemes(joined, letter).trim();
}

/** One process for all parts, each a paragraph; where espeak-ng parts one of them itself, a process for each. */
async function phonemesOfAll(
  { espeak, tenant }: Speller,
  language: string,
  parts: string[],
  signal: AbortSignal,
): Promise<string[]> {
  const phonemesOf = async (text: string) =>
    (await espeak.run(tenant, ['-q', '--ipa=3', '-v', language], text, signal))
      .toString('utf8')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
  const lines = await phonemesOf(parts.map((part) => part.trim()).join('\n\n'));
  if (lines.length === parts.length) return lines;
  const each: string[] = [];
  for (const part of parts) each.push((await phonemesOf(part)).join(' '));
  return each;
}

function kokoroPhonemes(phonemes: string, letter: string): string {
  const spelled = phonemes
    // Joiners within a phoneme, and the marks of a change of language.
    .replaceAll('\u200d', '')
    .replaceAll(/\([a-z-]+\)/g, '')
    .replaceAll('ʲ', 'j')
    .replaceAll('r', 'ɹ')
    .replaceAll('x', 'k')
    .replaceAll('ɬ', 'l');
  return letter === 'a' ? spelled.replaceAll(/(?<=nˈaɪn)ti(?!ː)/g, 'di') : spelled;
}
