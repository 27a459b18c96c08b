import type { UpstreamError } from '../dialects/dialect.ts';
import type { TooLong } from '../neutral/outcome.ts';
import { providerTypes } from './catalog.ts';
import type { Provider } from './provider.ts';

// Patterns run over words of the upstream's choosing: a bounded piece of them says it all.
export const matchedCharsMax = 2_000;

/**
 * Whether an upstream's error says that the prompt does not fit; null: it does not. Its own vendor's words come first,
 * then those of every other: any service may be a proxy of another, and pass its message on. Words with numbers take
 * precedence. Called off the hot path only.
 */
export function tooLongIn(
  provider: Provider,
  { code, message }: Pick<UpstreamError, 'code' | 'message'>,
): TooLong | null {
  const text = `${code} ${message}`.slice(0, matchedCharsMax);
  let found = matchedBy(provider, text);
  for (const other of providerTypes.values()) {
    if (found?.sent != null) break;
    const understood = matchedBy(other, text);
    if (found === null || understood?.sent != null || (found.most === null && understood?.most != null)) {
      found = understood ?? found;
    }
  }
  return found;
}

function matchedBy({ tooLong = [] }: Provider, text: string): TooLong | null {
  for (const wording of tooLong) {
    const found = wording.exec(text);
    if (found !== null) return { sent: countOf(found.groups?.sent), most: countOf(found.groups?.most) };
  }
  return null;
}

function countOf(digits: string | undefined): number | null {
  return digits === undefined ? null : Number(digits);
}
