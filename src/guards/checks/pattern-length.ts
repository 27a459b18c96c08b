/** Problem of a pattern, for the operator. */
export interface PatternFault {
  why: string;
}

/** Characters of the longest match, and steps of the machine that looks for it. */
export interface PatternSize {
  longest: number;
  steps: number;
}

const longestMax = 1_000;
const stepsMax = 5_000;

/** The size of a pattern's longest match: no look-around, no back-references, and a bound for each repetition. */
export function patternSize(pattern: string): PatternSize | PatternFault {
  const body = pattern.replace(/^\(\?i\)/, '');
  try {
    new RegExp(body, 'u');
  } catch (error) {
    return { why: `it is no regular expression: ${String(error).replace(/^.*\/u?: /, '')}` };
  }
  const reader: Reader = { body, at: 0 };
  try {
    const size = alternatives(reader);
    if (size.longest === 0) return { why: 'it matches the empty text' };
    if (size.longest > longestMax) return { why: `its longest match has more than ${longestMax} characters` };
    if (size.steps > stepsMax) return { why: 'it repeats too much; use smaller counts' };
    return size;
  } catch (error) {
    if (error instanceof NotLinear) return { why: error.message };
    throw error;
  }
}

class NotLinear extends Error {}

interface Reader {
  body: string;
  at: number;
}

function alternatives(reader: Reader): PatternSize {
  let longest = 0;
  let steps = 0;
  do {
    const one = sequence(reader);
    longest = Math.max(longest, one.longest);
    steps += one.steps;
  } while (reader.body[reader.at++] === '|');
  return { longest, steps };
}

function sequence(reader: Reader): PatternSize {
  const sum = { longest: 0, steps: 0 };
  while (reader.at < reader.body.length && !'|)'.includes(reader.body.charAt(reader.at))) {
    const one = atom(reader);
    const times = repeats(reader);
    sum.longest += one.longest * times;
    sum.steps += one.steps * times;
  }
  return sum;
}

function atom(reader: Reader): PatternSize {
  const { body, at } = reader;
  const rest = body.slice(at);
  if (rest.startsWith('(')) {
    if (/^\(\?<?[=!]/.test(rest)) throw new NotLinear('look-around is not linear; leave (?=…), (?!…) and (?<…) out');
    reader.at += /^\((?:\?:|\?<\w+>)?/.exec(rest)?.[0].length ?? 1;
    return alternatives(reader);
  }
  if (/^\\(?:[1-9]|k<)/.test(rest)) throw new NotLinear('a back-reference is not linear; leave it out');
  const token =
    /^(?:\\(?:u\{[\da-fA-F]+\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|[pP]\{[^}]*\}|.)|\[\^?(?:\\.|[^\]\\])*\]|[\s\S])/u.exec(
      rest,
    );
  reader.at += token?.[0].length ?? 1;
  const isPlace = /^(?:\\[bB]|[\^$])$/.test(token?.[0] ?? '');
  // Two units of UTF-16 at the most.
  const units = isPlace ? 0 : /^(?:\\[pPWDSu]|\[|\.|[\ud800-\udbff])/.test(rest) ? 2 : 1;
  return { longest: units, steps: 1 };
}

function repeats(reader: Reader): number {
  const rest = reader.body.slice(reader.at);
  const found = /^(?:[*+]|\{\d+,\}|\?|\{(?:\d+,)?(\d+)\})\??/.exec(rest);
  if (found === null) return 1;
  const [written, most] = found;
  reader.at += written.length;
  if (written.startsWith('?')) return 1;
  if (most === undefined) {
    throw new NotLinear(`${written} has no bound, and a stream waits for the longest match; write {0,40} or {1,40}`);
  }
  return Number(most);
}
