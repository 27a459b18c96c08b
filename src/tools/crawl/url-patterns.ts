import { RE2JS, RE2JSException } from 're2js';

/** Patterns of callers in time linear in the text, as RE2 has them: no look-around, no back-references. */
export type UrlPattern = (text: string) => boolean;

/**
 * For all patterns of one field together, in steps of the compiled machine: each character of a URL may cost as many. A
 * pattern without counted repetition has about one step a character.
 */
const stepsMax = 5_000;

/** Why the pattern at this place is not taken. */
export interface PatternFault {
  at: number;
  why: string;
}

export function compilePatterns(patterns: readonly string[]): UrlPattern[] | PatternFault {
  const compiled: UrlPattern[] = [];
  let steps = 0;
  for (const [at, text] of patterns.entries()) {
    try {
      const pattern = RE2JS.compile(RE2JS.translateRegExp(text));
      steps += pattern.programSize();
      if (steps > stepsMax) return { at, why: 'it repeats too much; use smaller counts, or + and *' };
      compiled.push((url) => pattern.matcher(url).find());
    } catch (error) {
      if (!(error instanceof RE2JSException)) throw error;
      return { at, why: error.message.replace('error parsing regexp: ', '') };
    }
  }
  return compiled;
}
