/**
 * The stem of an English word in lower case, by the Snowball project's algorithm "english" (Porter 2), in the form that
 * FastEmbed and Qdrant use, so that texts indexed by them are found.
 */
export function stemEnglish(word: string): string {
  if (word.length <= 2) return word;
  const irregular = exceptions.get(word);
  if (irregular !== undefined) return irregular;
  let stem = word.replaceAll(/[’‘‛]/g, "'");
  if (stem.startsWith("'")) stem = stem.slice(1);
  if (stem.startsWith('y')) stem = `Y${stem.slice(1)}`;
  stem = stem.replaceAll(/([aeiouy])y/g, '$1Y');
  const [r1, r2] = regions(stem);
  stem = withoutPossessive(stem);
  stem = step1a(stem);
  if (!unchanged.has(stem)) {
    stem = step1b(stem, r1);
    if (/.[^aeiouy][yY]$/.test(stem)) stem = `${stem.slice(0, -1)}i`;
    stem = step2(stem, r1);
    stem = step3(stem, r1, r2);
    stem = step4(stem, r2);
    stem = step5(stem, r1, r2);
  }
  return stem.replaceAll('Y', 'y');
}

const exceptions = new Map([
  ['skis', 'ski'],
  ['skies', 'sky'],
  ['dying', 'die'],
  ['lying', 'lie'],
  ['tying', 'tie'],
  ['idly', 'idl'],
  ['gently', 'gentl'],
  ['ugly', 'ugli'],
  ['early', 'earli'],
  ['only', 'onli'],
  ['singly', 'singl'],
  ['sky', 'sky'],
  ['news', 'news'],
  ['howe', 'howe'],
  ['atlas', 'atlas'],
  ['cosmos', 'cosmos'],
  ['bias', 'bias'],
  ['andes', 'andes'],
]);
/** After step 1a these stay as they are. */
const unchanged = new Set(['inning', 'outing', 'canning', 'herring', 'earring', 'proceed', 'exceed', 'succeed']);

/** Where R1 and R2 begin: behind the first consonant after a vowel, and the same again. */
function regions(word: string): [number, number] {
  const start = /^(?:gener|commun|arsen)/.exec(word)?.[0].length ?? behindConsonant(word, 0);
  return [start, behindConsonant(word, start)];
}

function behindConsonant(word: string, from: number): number {
  const found = /[aeiouy][^aeiouy]/.exec(word.slice(from));
  return found === null ? word.length : from + found.index + 2;
}

function withoutPossessive(word: string): string {
  return word.replace(/'(?:s'?)?$/, '');
}

function step1a(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2);
  if (/(?:ied|ies)$/.test(word)) return word.length > 4 ? word.slice(0, -2) : word.slice(0, -1);
  if (/(?:us|ss)$/.test(word)) return word;
  return /[aeiouy].+s$/.test(word) ? word.slice(0, -1) : word;
}

function step1b(word: string, r1: number): string {
  const eed = /(?:eed|eedly)$/.exec(word);
  if (eed !== null) return eed.index >= r1 ? word.slice(0, eed.index + 2) : word;
  const found = /(?:ingly|edly|ing|ed)$/.exec(word);
  if (found === null) return word;
  const stem = word.slice(0, found.index);
  if (!/[aeiouy]/.test(stem)) return word;
  if (/(?:at|bl|iz)$/.test(stem)) return `${stem}e`;
  if (/(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$/.test(stem)) return stem.slice(0, -1);
  return isShort(stem, r1) ? `${stem}e` : stem;
}

function isShort(word: string, r1: number): boolean {
  return r1 >= word.length && /(?:^[aeiouy][^aeiouy]|[^aeiouy][aeiouy][^aeiouywxY])$/.test(word);
}

const step2Endings: readonly (readonly [string, string])[] = [
  ['ization', 'ize'],
  ['ational', 'ate'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['iveness', 'ive'],
  ['tional', 'tion'],
  ['biliti', 'ble'],
  ['lessli', 'less'],
  ['entli', 'ent'],
  ['ation', 'ate'],
  ['alism', 'al'],
  ['aliti', 'al'],
  ['ousli', 'ous'],
  ['iviti', 'ive'],
  ['fulli', 'ful'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['abli', 'able'],
  ['izer', 'ize'],
  ['ator', 'ate'],
  ['alli', 'al'],
  ['bli', 'ble'],
];

function step2(word: string, r1: number): string {
  const found = step2Endings.find(([ending]) => word.endsWith(ending));
  if (found !== undefined) return replaced(word, found, r1);
  if (word.endsWith('ogi')) return word.at(-4) === 'l' ? replaced(word, ['ogi', 'og'], r1) : word;
  if (word.endsWith('li')) return /[cdeghkmnrt]li$/.test(word) ? replaced(word, ['li', ''], r1) : word;
  return word;
}

const step3Endings: readonly (readonly [string, string])[] = [
  ['ational', 'ate'],
  ['tional', 'tion'],
  ['alize', 'al'],
  ['icate', 'ic'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ness', ''],
  ['ful', ''],
];

function step3(word: string, r1: number, r2: number): string {
  if (word.endsWith('ative')) return replaced(word, ['ative', ''], r2);
  const found = step3Endings.find(([ending]) => word.endsWith(ending));
  return found === undefined ? word : replaced(word, found, r1);
}

const step4Endings = 'ement ance ence able ible ment ant ent ism ate iti ous ive ize al er ic'.split(' ');

function step4(word: string, r2: number): string {
  const found = step4Endings.find((ending) => word.endsWith(ending));
  if (found !== undefined) return replaced(word, [found, ''], r2);
  return /[st]ion$/.test(word) ? replaced(word, ['ion', ''], r2) : word;
}

function step5(word: string, r1: number, r2: number): string {
  const last = word.length - 1;
  if (word.endsWith('e')) {
    const stem = word.slice(0, -1);
    const isShortEnd = /(?:^[aeiouy][^aeiouy]|[^aeiouy][aeiouy][^aeiouywxY])$/.test(stem);
    return last >= r2 || (last >= r1 && !isShortEnd) ? stem : word;
  }
  return word.endsWith('ll') && last >= r2 ? word.slice(0, -1) : word;
}

/** With another ending where the old one is in the region that begins at `from`. */
function replaced(word: string, [ending, next]: readonly [string, string], from: number): string {
  const at = word.length - ending.length;
  return at >= from ? word.slice(0, at) + next : word;
}
