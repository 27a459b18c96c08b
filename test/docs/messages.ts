import { readFileSync } from 'node:fs';
import { parseSync } from 'rolldown/utils';
import { type Sentence, splitSentences } from './plain-english.ts';
import { root } from './snippets.ts';

/** A node of the syntax tree; its members depend on its type. */
type Node = { type: string; start: number; end: number; [member: string]: unknown };

/** Calls that take words for people: failures, problems, findings, log lines, output of commands. */
const messageTakers =
  /(?:Error|Fail(?:ed|ure)|Refused|Fault|refuse|invalid|fault|problem|warning|fail|log\.\w+|console\.\w+|onTrouble|print)$/;
/** Calls and members that take descriptions, which may be labels. */
const labelTakers = /(?:describe|option|argument|description|summary)$/;

/** `mayLackVerb`: it is a part of another message, or nothing says that it is one and not a label. */
export type Message = Sentence & { mayLackVerb: boolean };

/**
 * Texts that people read at run time, from the string literals of a source file: whole sentences wherever they are, and
 * fragments that a call takes. A `${…}` is one word. Descriptions count as cells of a table, which need no verb.
 */
export function messagesOf(file: string): Message[] {
  const source = readFileSync(`${root}/${file}`, 'utf8');
  const found: Message[] = [];
  const add = (node: Node, place: Sentence['place'] | null) => {
    const words = wordsOf(node);
    if (words === null || (words.match(/\p{L}{2,}/gu)?.length ?? 0) < 3 || /^[A-Z]{3,} |\n.*\n/.test(words)) return;
    const line = source.slice(0, node.start).split('\n').length;
    for (const text of splitSentences(words.replace(/\s+/g, ' ').replace(/`[^`]*`/g, 'Code'))) {
      const whole = /^['"(]?\p{Lu}.* .*\.$/u.test(text);
      if (!whole && place === null) continue;
      found.push({ line, text: asSentence(text), place: place ?? 'prose', mayLackVerb: !whole || place === null });
    }
  };
  const visit = (value: unknown, place: Sentence['place'] | null): void => {
    if (Array.isArray(value)) for (const one of value) visit(one, place);
    if (!isNode(value) || value.type === 'ImportDeclaration' || /^TS.*(?:Type|Declaration)/.test(value.type)) return;
    if (value.type === 'Literal' || value.type === 'TemplateLiteral') add(value, place);
    const taker = (value.type === 'Property' ? value.key : value.callee) as Node | undefined;
    const given = taker === undefined ? place : placeIn(source.slice(taker.start, taker.end), value, place);
    for (const member of Object.values(value)) if (member !== taker) visit(member, given);
  };
  visit(parseSync(file, source).program, null);
  return found;
}

/** Each text of at least three words in a source file, whatever it is for; also those between tags. */
export function textsOf(file: string): string[] {
  const source = readFileSync(`${root}/${file}`, 'utf8');
  const found: string[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) visit(one);
    if (!isNode(value) || value.type === 'ImportDeclaration') return;
    const isText = value.type === 'Literal' || value.type === 'TemplateLiteral' || value.type === 'JSXText';
    const words = isText ? (wordsOf(value)?.replace(/\s+/g, ' ').trim() ?? '') : '';
    if (/\S \S+ \S/.test(words)) found.push(words);
    for (const member of Object.values(value)) visit(member);
  };
  visit(parseSync(file, source).program);
  return found;
}

const asSentence = (text: string) => `${text[0]!.toUpperCase()}${text.slice(1)}${/[.:?]$/.test(text) ? '' : '.'}`;
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value;

function placeIn(taker: string, { type }: Node, place: Sentence['place'] | null): Sentence['place'] | null {
  if (labelTakers.test(taker)) return 'cell';
  if (type === 'Property' ? taker === 'message' : messageTakers.test(taker)) return 'prose';
  return place === 'cell' ? 'cell' : null;
}

function wordsOf(node: Node): string | null {
  if (node.type !== 'TemplateLiteral') return typeof node.value === 'string' ? node.value : null;
  return (node.quasis as { value: { cooked: string } }[]).map(({ value }) => value.cooked).join('Code');
}
