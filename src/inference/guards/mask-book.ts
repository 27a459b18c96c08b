/** The words of one request that replace what guards took out of it. Equal values have one word. */
export class MaskBook {
  readonly #words = new Map<string, string>();
  readonly #numbers = new Map<string, string>();
  readonly #values = new Map<string, string>();
  readonly #answerWords = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #taken = new Set<string>();
  readonly #givesBack: boolean;
  #isClaimed = false;

  /** `givesBack`: whether answers get the values of words. */
  constructor(givesBack = true) {
    this.#givesBack = givesBack;
  }

  /** True the first time. */
  claim(): boolean {
    const isFirst = !this.#isClaimed;
    this.#isClaimed = true;
    return isFirst;
  }

  /** A restored word gives its value back only where the request had it. */
  get isEmpty(): boolean {
    return !this.#givesBack || this.#values.size === 0;
  }

  /** Words of this form that the caller wrote; they stay as they are. */
  keepWordsOf(text: string): void {
    for (const [word] of text.matchAll(maskWord)) this.#taken.add(word);
  }

  /** The word for a value of the request, which answers give back. A number has another word than its digits. */
  wordFor(kind: string, value: string, as: 'text' | 'number' = 'text'): string {
    const words = as === 'number' ? this.#numbers : this.#words;
    const known = words.get(value);
    if (known !== undefined) return known;
    const word = this.#newWord(kind);
    words.set(value, word);
    this.#values.set(word, value);
    return word;
  }

  /** The word for a value that only the answer has, where it stays. */
  answerWordFor(kind: string, value: string): string {
    const word = this.#answerWords.get(value) ?? this.#newWord(kind);
    this.#answerWords.set(value, word);
    return word;
  }

  #newWord(kind: string): string {
    const name = kind.toUpperCase().replaceAll('-', '_');
    for (;;) {
      const count = (this.#counts.get(name) ?? 0) + 1;
      this.#counts.set(name, count);
      const word = `<${name}_${count}>`;
      if (!this.#taken.has(word)) return word;
    }
  }

  /** Whether a value came with the request and was masked there. */
  has(value: string): boolean {
    return this.#words.has(value) || this.#numbers.has(value);
  }

  /** Whether a text is the word for a number. */
  isNumber(text: string): boolean {
    const value = this.#values.get(text);
    return value !== undefined && this.#numbers.get(value) === text;
  }

  /** The word behind `from` that goes across a place, and that has a value; null: none does. */
  wordAcross(text: string, from: number, place: number): { start: number; end: number } | null {
    const first = Math.max(from, place - wordChars);
    const start = first + text.slice(first, place).lastIndexOf('<');
    const [word = ''] = /^<[^>]*>/.exec(text.slice(start, start + wordChars)) ?? [];
    return word.length > place - start && this.#values.has(word) ? { start, end: start + word.length } : null;
  }

  /** Whether a text ends, behind `from`, within a word that has a value. */
  endsInWord(text: string, from: number): boolean {
    const begun = text.slice(Math.max(from, text.lastIndexOf('<')));
    return begun.startsWith('<') && [...this.#values.keys()].some((word) => word !== begun && word.startsWith(begun));
  }

  /** The text with its words replaced by their values. `json`: it is JSON, and the words are in its strings. */
  restored(text: string, as: 'text' | 'json' = 'text'): string {
    if (this.isEmpty || !text.includes('<')) return text;
    return text.replace(maskWord, (word) => {
      const value = this.#values.get(word) ?? word;
      return as === 'json' ? JSON.stringify(value).slice(1, -1) : value;
    });
  }
}

/** Characters of the longest word. */
const wordChars = 40;
export const maskWord = /<[A-Z][A-Z_]{0,24}_\d{1,9}>/g;
const wordPart = /<(?:[A-Z][A-Z_\d]{0,36})?(?:>|$)/y;

/** `before`, or the beginning of a word that is there or may come to be there. */
export function beforeWord(text: string, from: number, before: number): number {
  const at = text.lastIndexOf('<', Math.min(before, text.length) - 1);
  if (at < from || at < before - wordChars) return before;
  wordPart.lastIndex = at;
  return wordPart.test(text) && (wordPart.lastIndex > before || !text.slice(at, before).includes('>')) ? at : before;
}
