const wordsMax = 32;
const wordCharsMax = 64;
/** Most pairs of one page: each is a separate word to the databases. So many take SQLite's thread 30 ms. */
const pairsMax = 20_000;

/** Runs of scripts that put no spaces between words, or put particles at them: databases take a run for one word. */
const unspaced = /[[\p{L}\p{N}]&&[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}]]+/gv;

/**
 * The words of a query as a person types them, lower case, each once: no operator of a database gets through. Chinese,
 * Japanese and Korean by pairs of characters, as `searchedText` has them.
 */
export function wordsInQuery(query: string): string[] {
  const spaced = query.toLowerCase().replace(unspaced, (run) => ` ${pairsOf([...run]).join(' ')} `);
  const words = spaced.match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set(words.map((word) => word.slice(0, wordCharsMax)))].slice(0, wordsMax);
}

/** A lone character of such a script: it is found where a pair begins with it. */
export function isBeginning(word: string): boolean {
  return [...word].length === 1 && word.search(unspaced) === 0;
}

/** A text for an index of words: `日本語` as `日本 本語 語`, the last one for who looks for it alone. */
export function searchedText(text: string): string {
  let left = pairsMax;
  return text.replace(unspaced, (run) => {
    const characters = [...run].slice(0, left);
    left -= characters.length;
    return ` ${[...pairsOf(characters), ...characters.slice(1).slice(-1)].join(' ')} `;
  });
}

function pairsOf(characters: readonly string[]): string[] {
  if (characters.length < 2) return [...characters];
  return characters.slice(1).map((character, at) => characters[at] + character);
}
