import { contextChars } from './check.ts';
import { type SeenText, seenText, squeezed } from './seen-text.ts';

/** The end of a text that comes in pieces: what rules have not decided yet, behind what they look at before it. */
export class HeldText {
  text = '';
  /** Where in `text` begins what is not decided. */
  from = 0;
  /** Where in `text` begins what has not been passed on: behind `from` where a text that had ended goes on. */
  sentTo = 0;
  /** Places in `text` where parts end that have not gone on, in their order. */
  partEnds: number[] = [];
  /** Half a character. */
  #half = '';
  /** Units of the whole text before `text`. */
  #releasedUnits = 0;
  #cuts: { at: number; units: number }[] = [];
  #seen: { of: string; as: SeenText | null } = { of: '', as: null };

  /** Takes a piece; of more invisible characters in a row than are held, the first ones. */
  push(piece: string): void {
    const text = this.#half + piece;
    const last = text.charCodeAt(text.length - 1);
    const end = last >= 0xd800 && last < 0xdc00 ? text.length - 1 : text.length;
    this.#half = text.slice(end);
    this.#add(text.slice(0, end));
  }

  endPart(): void {
    this.partEnds.push(this.text.length);
  }

  /** No piece follows. */
  end(): void {
    if (this.#half !== '') this.#add(this.#half);
    this.#half = '';
  }

  /** `text` as people read it; null: as it is. */
  get seen(): SeenText | null {
    if (this.#seen.of !== this.text) this.#seen = { of: this.text, as: seenText(this.text) };
    return this.#seen.as;
  }

  /** Up to this place all is decided. */
  passTo(at: number): void {
    this.from = at;
    const { seen } = this;
    const start = seen === null ? at - contextChars : seen.beginning(Math.max(0, seen.placeOf(at) - contextChars));
    if (start <= 0) return;
    const released = Math.min(start, at);
    this.#releasedUnits = this.placeOf(released);
    this.#cuts = this.#cuts.filter((cut) => cut.at > released).map((cut) => ({ ...cut, at: cut.at - released }));
    this.partEnds = this.partEnds.map((end) => end - released);
    this.text = this.text.slice(released);
    this.from -= released;
    this.sentTo -= released;
  }

  /** A place of `text` in the whole text. */
  placeOf(at: number): number {
    let place = this.#releasedUnits + at;
    for (const cut of this.#cuts) if (cut.at <= at) place += cut.units;
    return place;
  }

  #add(text: string): void {
    this.text = squeezed(this.text + text, (at, units) => this.#cuts.push({ at, units }));
  }
}
