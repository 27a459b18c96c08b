import type { TextPart, Texts } from '../../formats/neutral/json-texts.ts';
import type { StepRequest, Verdict } from '../models/steps.ts';
import { blocked } from './guard-failures.ts';
import type { GuardReport } from './guard-report.ts';
import { mayBeJson, placeInJson, valueIn } from './json-mask.ts';
import { MaskBook, maskWord } from './mask-book.ts';

export type { GuardReport };

/** State that the guards of one request share. */
export interface GuardShare {
  book: MaskBook;
  reports: GuardReport[];
}

const shares = new WeakMap<StepRequest, GuardShare>();

/** The same for each guard of a request. `isFirst`: for the first that asks. */
export function shareOf(about: StepRequest): GuardShare & { isFirst: boolean } {
  const known = shares.get(about);
  if (known !== undefined) return { ...known, isFirst: false };
  // Points have words of the requests that wrote them, which replace other values.
  const share = { book: new MaskBook(about.endpoint !== 'vectors'), reports: [] };
  shares.set(about, share);
  return { ...share, isFirst: true };
}

/** A part of a request with what a guard found in it. */
interface Found {
  part: TextPart;
  findings: readonly { kind: string; start: number; end: number }[];
}

/** The request with words in the place of findings, which are in their order. */
export function masked(name: string, book: MaskBook, texts: Texts | null, found: readonly Found[]): Verdict {
  for (const { text } of texts?.parts ?? []) book.keepWordsOf(text);
  const lasting = found.find(({ part }) => !canMask(part));
  if (lasting !== undefined) {
    const what = isSpeaker(lasting.part)
      ? 'the name of who speaks'
      : lasting.part.names !== undefined
        ? 'the name of a tool or a schema'
        : isInFilter(lasting.part)
          ? 'a value in a filter'
          : lasting.part.as === 'name'
            ? 'the name of a JSON member'
            : 'a number that is no argument of a tool';
    return { refused: blocked(name, what) };
  }
  return {
    changes: found.map(({ part, findings }) => {
      if (part.as === 'number')
        return { ...part, text: book.wordFor(findings[0]?.kind ?? 'number', part.text, 'number') };
      let text = '';
      let from = 0;
      const isJson = mayBeJson(part.text);
      for (const { kind, start, end } of findings) {
        const place = isJson ? placeInJson(part.text, { start, end }) : { end, quote: '' };
        const written = part.text.slice(start, place.end);
        const word = book.wordFor(kind, isJson ? valueIn(written) : written);
        text += part.text.slice(from, start) + place.quote + word + place.quote;
        from = place.end;
      }
      return { ...part, text: text + part.text.slice(from) };
    }),
  };
}

/** Turns that a provider keeps and a request continues: nobody masks the values that they have. 0 or 1. */
export function continuedIn(texts: Texts | null): number {
  return Number(texts?.parts.some(({ path: [name] }) => name === 'previous_response_id' || name === 'conversation'));
}

/**
 * False for names of tools, members and speakers, for values that stored points are compared with, and for numbers of which
 * the format or a schema wants that they are some.
 */
export function canMask({ as, kind, names, path }: Pick<TextPart, 'as' | 'kind' | 'names' | 'path'>): boolean {
  if (names !== undefined || isSpeaker({ path }) || isInFilter({ kind, path })) return false;
  return as === undefined || (as === 'number' && (kind === 'tool-arguments' || kind === 'tool-result'));
}

/** The payloads of points have words of other requests. A search of files has its filter next to its type. */
function isInFilter({ kind, path }: Pick<TextPart, 'kind' | 'path'>): boolean {
  const isOfTool = path[0] === 'tools' && path[2] === 'filters';
  return isOfTool || (kind === 'query' && (path.includes('filter') || path.includes('formula')));
}

/** Adds the words in what tools bring: each gets a word of this request, and answers give it back as it was. */
export function withWordsOfOthers(found: readonly Found[], texts: Texts | null): Found[] {
  const findingsOf = new Map(found.map(({ part, findings }) => [part, findings]));
  return (texts?.parts ?? []).map((part) => {
    const findings = findingsOf.get(part) ?? [];
    const words = part.kind === 'tool-result' && canMask(part) ? part.text.matchAll(maskWord) : [];
    const placeOf = ({ 0: word, index: start }: RegExpExecArray) => ({
      kind: word.slice(1, word.lastIndexOf('_')),
      start,
      end: start + word.length,
    });
    const sorted = [...findings, ...Array.from(words, placeOf)].sort((one, other) => one.start - other.start);
    const apart: { kind: string; start: number; end: number }[] = [];
    for (const one of sorted) {
      const last = apart.at(-1);
      if (last !== undefined && one.start < last.end) last.end = Math.max(last.end, one.end);
      else apart.push({ ...one });
    }
    return { part, findings: apart };
  });
}

/** OpenAI refuses a name with signs such as those of a mask's word. */
function isSpeaker({ path }: Pick<TextPart, 'path'>): boolean {
  return path.length === 3 && path[0] === 'messages' && path[2] === 'name';
}
