import { toldCount } from '../neutral/told-count.ts';

/** A member of a usage object that is told below 0, with an exponent, or with ten digits and more. */
const suspect = /[tT]oken\w*"\s*:\s*(?:-|\d[\d.]*[eE]|\d{10})/;
const counts = /"(\w*[tT]oken\w*)"(\s*:\s*)(-?\d[\d.]*(?:[eE][+-]?\d+)?)/g;

/** What we counted ourselves, in tokens. */
export interface OwnCounts {
  input: number;
  output: number;
}

export function tellsImpossibleCounts(json: string): boolean {
  return suspect.test(json);
}

const inputName = /^(?:prompt_tokens|input_tokens|promptTokenCount)$/;
const outputName = /^(?:completion_tokens|output_tokens|candidatesTokenCount)$/;

/**
 * A JSON text whose counts of tokens that no request can have (-5, 1e300) are our own estimates, where clients read whole
 * numbers and bill by them; all else as it came. Input, output and total stand or fall together. Within strings nothing
 * matches, their quotes being escaped.
 */
export function withPossibleCounts(json: string, { input, output }: OwnCounts): string {
  const areOurs = [...json.matchAll(counts)].some(
    ([, name = '', , told]) => isMain(name) && toldCount(Number(told)) === null,
  );
  return json.replaceAll(counts, (all, name: string, colon: string, told: string) => {
    if (isMain(name) ? !areOurs : toldCount(Number(told)) !== null) return all;
    const own = inputName.test(name) ? input : outputName.test(name) ? output : isMain(name) ? input + output : 0;
    return `"${name}"${colon}${own}`;
  });
}

function isMain(name: string): boolean {
  return inputName.test(name) || outputName.test(name) || /^total/.test(name);
}
