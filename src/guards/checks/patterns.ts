import { RE2JS } from 're2js';
import { type Check, contextChars, type Rule } from '../check.ts';
import { patternSize } from './pattern-length.ts';

/** Rules for an operator's patterns, in RE2's syntax and its linear time. They passed `patternSize`. */
export function patterns(list: readonly string[]): Check {
  return list.map((pattern): Rule => {
    const size = patternSize(pattern);
    const longest = ('why' in size ? 0 : size.longest) + 1;
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
    return {
      longest,
      next(text, from) {
        const before = Math.max(0, from - contextChars);
        const matcher = compiled.matcher(text.slice(before));
        if (!matcher.find(from - before)) return null;
        const [start, end] = [matcher.start() + before, matcher.end() + before];
        return end === start ? null : { kind: 'pattern', start, end };
      },
      open: (text, from) => Math.max(from, text.length - longest),
    };
  });
}
