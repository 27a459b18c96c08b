/** A number that languages print and JSON does not have. */
export interface BareNumber {
  /** Where it stands, such as `points[2].vector[7]`. */
  path: string;
  word: string;
}

const structureOrBare = /["[\]{},:]|-?(?:NaN|Infinity)/g;
const depthMax = 64;
const pathCharsMax = 200;

/**
 * The first NaN or Infinity of a text that `JSON.parse` refused: most often what a program prints for a vector gone
 * wrong. Null when there is none, or what stands before it is no JSON either.
 */
export function bareNumberIn(text: string): BareNumber | null {
  if (!/NaN|Infinity/.test(text)) return null;
  // A step is a key, or the index of an array's element.
  const steps: (string | number)[] = [];
  let lastString = '';
  structureOrBare.lastIndex = 0;
  for (let match = structureOrBare.exec(text); match !== null; match = structureOrBare.exec(text)) {
    const word = match[0];
    const last = steps.at(-1);
    if (word === '{' || word === '[') {
      if (steps.length === depthMax) return null;
      steps.push(word === '{' ? '' : 0);
    } else if (word === '}' || word === ']') {
      steps.pop();
    } else if (word === ',') {
      if (typeof last === 'number') steps[steps.length - 1] = last + 1;
    } else if (word === ':') {
      if (typeof last === 'string') steps[steps.length - 1] = lastString;
    } else if (word === '"') {
      const close = closingQuote(text, match.index + 1);
      if (close < 0) return null;
      lastString = text.slice(match.index + 1, Math.min(close, match.index + 1 + pathCharsMax));
      structureOrBare.lastIndex = close + 1;
    } else {
      return { path: pathOf(steps), word };
    }
  }
  return null;
}

function closingQuote(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '"') return at;
    if (text[at] === '\\') at += 1;
  }
  return -1;
}

function pathOf(steps: readonly (string | number)[]): string {
  let path = '';
  for (const step of steps) path += typeof step === 'number' ? `[${step}]` : path === '' ? step : `.${step}`;
  return path.slice(0, pathCharsMax) || 'body';
}
