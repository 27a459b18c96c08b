import { uriText } from '../../kernel/web/uri-text.ts';
import type { PageDocument, PageElement } from './page-document.ts';
import { marks, noteMark } from './text-marks.ts';

const notesMax = 1_000;
const referencesMax = 5_000;
const noteCharsMax = 5_000;

/** Notes by the number of their mark. */
export type HeldNotes = ReadonlyMap<number, PageElement>;

/**
 * Takes footnotes out of the document and puts marks where it refers to them, so that no extractor loses the one or the
 * other. A note is what a raised or so named link within the page leads to.
 */
export function holdNotes(document: PageDocument): HeldNotes {
  const noteOf = noteFinder(document);
  const numbers = new Map<PageElement, number>();
  const references: { link: PageElement; number: number }[] = [];
  for (const link of document.querySelectorAll('a[href^="#"]')) {
    const note = isReference(link) ? noteOf(link) : null;
    if (note === null) continue;
    const number = numbers.get(note) ?? numbers.size + 1;
    numbers.set(note, number);
    references.push({ link, number });
    if (number >= notesMax || references.length >= referencesMax) break;
  }
  for (const { link, number } of references) {
    (link.closest('sup') ?? link).replaceWith(document.createTextNode(noteMark(number)));
  }
  const notes = new Map<number, PageElement>();
  for (const [note, number] of numbers) {
    removeWithParents(note);
    removeBacklinks(note);
    notes.set(number, note);
  }
  return notes;
}

/** Puts the notes that `root` refers to at its end. */
export function bringNotes(document: PageDocument, root: PageElement, notes: HeldNotes): void {
  const list = document.createElement('ol');
  const brought = new Set<number>();
  const bringFrom = (text: string) => {
    for (const [, number = ''] of text.matchAll(new RegExp(`${marks.note}(\\d+)${marks.noteEnd}`, 'g'))) {
      const note = notes.get(Number(number));
      if (note === undefined || brought.has(Number(number))) continue;
      brought.add(Number(number));
      const item = document.createElement('li');
      item.setAttribute('data-note', number);
      item.setAttribute('id', `fn-${number}`);
      item.innerHTML = note.innerHTML;
      list.append(item);
      bringFrom(note.textContent ?? '');
    }
  };
  bringFrom(root.textContent ?? '');
  if (brought.size > 0) root.append(list);
}

/** The note of an item; null if it is none. */
export function noteNumber(element: PageElement): string | null {
  const number = element.getAttribute('data-note');
  return number !== null && /^\d{1,4}$/.test(number) ? number : null;
}

function isReference(link: PageElement): boolean {
  if (!/^\[?(?:\d{1,3}|[a-z]|[*†‡§]{1,3}|note \d{1,3})\]?$/i.test((link.textContent ?? '').trim())) return false;
  if (/doc-noteref/.test(link.getAttribute('role') ?? '')) return true;
  if (/footnote|noteref|fnref/i.test(link.getAttribute('class') ?? '') && link.closest('li[id]') === null) return true;
  return link.closest('sup') !== null || link.querySelector('sup') !== null;
}

function noteFinder(document: PageDocument): (link: PageElement) => PageElement | null {
  const byId = new Map<string, PageElement>();
  for (const element of document.querySelectorAll('[id]')) {
    const id = element.getAttribute('id') ?? '';
    if (!byId.has(id)) byId.set(id, element);
  }
  const isNote = new Map<PageElement, boolean>();
  return (link) => {
    const id = (link.getAttribute('href') ?? '').slice(1);
    // An anchor may be inside the element with the words.
    const note = (byId.get(id) ?? byId.get(uriText(id)))?.closest('li, p, dd, aside, div') ?? null;
    if (note === null) return null;
    if (!isNote.has(note)) isNote.set(note, looksLikeNote(note));
    return isNote.get(note) === true && !note.contains(link) ? note : null;
  };
}

function looksLikeNote(element: PageElement): boolean {
  if (element.querySelector('h1, h2, h3, article, p + p + p + p') !== null) return false;
  return (element.textContent ?? '').length <= noteCharsMax;
}

function removeWithParents(note: PageElement): void {
  let parent = note.parentNode as PageElement | null;
  note.remove();
  while (
    parent !== null &&
    /^(?:ol|ul|dl|section|div)$/.test(parent.localName) &&
    (parent.textContent ?? '').trim() === ''
  ) {
    const next = parent.parentNode as PageElement | null;
    parent.remove();
    parent = next;
  }
}

function removeBacklinks(note: PageElement): void {
  for (const link of [...note.querySelectorAll('a[href^="#"]')]) {
    const text = (link.textContent ?? '').trim();
    const isBack = /backref|backlink/i.test(`${link.getAttribute('class')} ${link.getAttribute('role')}`);
    if (isBack || /^(?:[\^↩↑⏎⤴]\ufe0e?|back|\[?\d{1,3}\]?\.?|[a-z])$/iu.test(text))
      (link.closest('sup') ?? link).remove();
  }
  for (const back of [...note.querySelectorAll('.mw-cite-backlink')]) back.remove();
}
