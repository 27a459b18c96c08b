/** The pieces in which a text became sound. They tell which of its characters a listener has played by a time. */
export class VoicedText {
  readonly #pieces: { chars: number; ms: number }[] = [];

  /** Begins the sound of the next `chars` characters. */
  begin(chars: number): void {
    this.#pieces.push({ chars, ms: 0 });
  }

  /** Adds sound to the piece that began last. */
  add(ms: number): void {
    const last = this.#pieces.at(-1);
    if (last !== undefined) last.ms += ms;
  }

  /** Length of all sound. */
  get ms(): number {
    return this.#pieces.reduce((sum, { ms }) => sum + ms, 0);
  }

  /** The beginning of `text` in the first `endMs` of sound: whole pieces, and the share of the last one in whole words. */
  within(text: string, endMs: number): string {
    let chars = 0;
    let restMs = endMs;
    for (const piece of this.#pieces) {
      if (restMs <= 0) break;
      if (restMs < piece.ms) return text.slice(0, wordEnd(text, chars + Math.floor((piece.chars * restMs) / piece.ms)));
      chars += piece.chars;
      restMs -= piece.ms;
    }
    return text.slice(0, chars);
  }
}

/** A longer run of characters is no word, but a text without spaces, such as Chinese. */
const wordCharsMax = 40;

/** The end of the last whole word before `at`. */
function wordEnd(text: string, at: number): number {
  if (/^(\s|$)/.test(text.slice(at, at + 1))) return at;
  const start = Math.max(0, at - wordCharsMax);
  const space = text.slice(start, at).search(/\s\S*$/);
  if (space !== -1) return start + space;
  // Half of a surrogate pair is no character.
  return /[\ud800-\udbff]$/.test(text.slice(0, at)) ? at - 1 : at;
}
