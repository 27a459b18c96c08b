import { readFileSync } from 'node:fs';
import nlp from 'compromise';
import { lexer, type Token } from 'marked';
import { root } from './snippets.ts';

/*
 * The measurable part of plain language (ISO 24495-1, and the guidelines of plainlanguage.gov): short sentences, each with
 * a verb, mostly active, none that must be turned round to be understood.
 */

export const wordsMax = 30;
/** Share of the whole sentences of one page. */
export const passiveShareMax = 0.3;

export interface Sentence {
  /** From 1. */
  line: number;
  text: string;
  /** Cells of tables are labels as often as sentences: only their length counts. */
  place: 'prose' | 'cell';
}

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

/** The sentences of a page, without code blocks, headings and comments. Code and links are one word each. */
export function sentencesOf(file: string): Sentence[] {
  const text = readFileSync(`${root}/${file}`, 'utf8');
  const sentences: Sentence[] = [];
  let from = 0;
  const add = (raw: string, inline: string, place: Sentence['place']) => {
    const at = text.indexOf(raw, from);
    if (at !== -1) from = at;
    const line = text.slice(0, from).split('\n').length;
    for (const one of splitSentences(plain(inline))) sentences.push({ line, text: one, place });
  };
  const visit = (tokens: readonly Token[]) => {
    for (const token of tokens) {
      if (token.type === 'paragraph' || token.type === 'text') add(token.raw, token.raw, 'prose');
      else if (token.type === 'list') for (const item of token.items) visit(item.tokens);
      else if (token.type === 'blockquote') visit(token.tokens ?? []);
      else if (token.type === 'table')
        for (const row of token.rows) for (const cell of row) add(cell.text.slice(0, 20), cell.text, 'cell');
    }
  };
  visit(lexer(text));
  return sentences;
}

/** Code, links and pictures as the words that a reader says in their place. */
function plain(markdown: string): string {
  return (
    markdown
      .replace(/<!--[\s\S]*?-->/g, '')
      .replace(/!\[[^\]]*\]\([^)]*\)/g, '')
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/`[^`]*`/g, 'Code')
      .replace(/<[^>]+>/g, '')
      // A bold beginning is a heading.
      .replace(/^\*\*[^*]+\.\*\* /, '')
      .replace(/\*\*|__|\*/g, '')
      .replace(/\s+/g, ' ')
      .trim()
  );
}

/** A colon ends a thought as a full stop does: a list or an example follows. */
export function splitSentences(text: string): string[] {
  return [...segmenter.segment(text)]
    .flatMap(({ segment }) => segment.split(/(?<=:)\s/))
    .map((one) => one.trim())
    .filter((one) => /\p{L}/u.test(one));
}

export const wordsIn = (text: string): number => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

/** `What stands where is a test.`: a clause in place of the subject. */
const clauseAsSubject = /^(?:What|Who|Whom|Whose|Which|Whoever|Whatever|Whichever)\b.*[^?]$/;
/** `Free are models.`, `Beside it stands the key.`: the verb before its subject. */
const turnedRound =
  /^(?:(?:Free|Never|Also|Not)|(?:Beside|Behind|Above|Below|Within|Among)(?: (?:it|them|that|this|these))?) (?:are|is|stands?|lies?|goes|go|comes?|has|have)\b/;

/** Words of a private language, which a reader of the field would not write there. */
export const ownWords =
  /\b(?:told|whoever|of (?:its|their) own|beside|by (?:itself|themselves)|somebody|stands?|lies|hears?|wins?|at one (?:time|instant)|by words|wishes)\b/i;

/** Verbs that are taken for nouns otherwise. */
const verbs =
  /\b(?:answers|changes|costs|counts?|embeds|holds?|leads|links|logs|pays|returns?|runs|skips|takes?|works)\b|^(?:Correct|Retry|Set)\b/;

/** Where one of these is, the slow look for a verb is not needed; and without a form of these no verb is passive. */
const surelyVerbs =
  /\b(?:am|is|are|was|were|has|have|had|does|do|did|can|cannot|could|may|might|must|will|would|should|shall)\b/i;
const formsOfPassive = /\b(?:am|is|are|was|were|be|been|being|gets?|got|gotten|getting)\b|['’](?:s|re|m)\b|n['’]t\b/i;

export interface Judged {
  /** The fault; null: none that can be measured. */
  fault: string | null;
  passive: boolean;
}

export function judge({ text, place }: Sentence): Judged {
  // Names in a cell are a list.
  const words = wordsIn(place === 'cell' ? text.replace(/\bCode\b/g, '') : text);
  const [ownWord] = ownWords.exec(text) ?? [];
  const long = words > wordsMax ? `${words} words` : ownWord === undefined ? null : `a word of ours, '${ownWord}'`;
  if (place === 'cell' || !text.endsWith('.') || words < 3) return { fault: long, passive: false };
  const hasVerb = () => surelyVerbs.test(text) || verbs.test(text) || nlp(text).has('#Verb');
  return {
    fault: long ?? oddity(text, hasVerb),
    // Messages are not asked for it.
    get passive() {
      return formsOfPassive.test(text) && nlp(text).has('#Passive');
    },
  };
}

function oddity(text: string, hasVerb: () => boolean): string | null {
  if (clauseAsSubject.test(text)) return 'a clause in place of the subject';
  if (turnedRound.test(text)) return 'the verb before its subject';
  // After a colon comes a list as often as a sentence.
  const mayLackVerb = /^\P{Lu}/u.test(text) || /\bCode\b/.test(text);
  return mayLackVerb || hasVerb() ? null : 'no verb';
}
