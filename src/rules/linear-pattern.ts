import { RE2JS } from 're2js';

/** Whether a text has a match somewhere, in linear time. Throws for what is no pattern of RE2. */
export function linearPattern(pattern: string): (text: string) => boolean {
  const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
  return (text) => compiled.matcher(text).find();
}
