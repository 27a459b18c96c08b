import { hash } from 'node:crypto';

/** Text that recurs in all questions of one place, which says nothing of what they ask. */
export interface QuestionTemplate {
  prefix: string;
  suffix: string;
  lines: readonly string[];
}

/** Different questions from which a template is learnt, once. */
export const learntFrom = 8;
/** Shorter beginnings and ends are usual words, not a template. */
const recurringCharsMin = 24;
const lineCharsMin = 8;

/** Beginning or end that all of these texts have; null: nothing. */
export function learnTemplate(texts: readonly string[]): QuestionTemplate | null {
  const [first = '', ...others] = texts;
  const prefix = ofWords(others.reduce(commonStart, first), 'start');
  const rest = texts.map((text) => text.slice(prefix.length));
  const suffix = ofWords(backwards(rest.map(backwards).reduce(commonStart)), 'end');
  const inner = rest.map((text) => new Set(text.slice(0, text.length - suffix.length).split('\n')));
  const lines = [...(inner[0] ?? [])].filter(
    (line) => line.trim().length >= lineCharsMin && inner.every((of) => of.has(line)),
  );
  return prefix === '' && suffix === '' && lines.length === 0 ? null : { prefix, suffix, lines };
}

/** The part of a question that changes, and the template that was taken out; '' for none. */
export function changingPart(text: string, template: QuestionTemplate | null): { part: string; template: string } {
  const { prefix, suffix, lines } = template ?? none;
  const fits = text.length >= prefix.length + suffix.length && text.startsWith(prefix) && text.endsWith(suffix);
  if (template === null || !fits) return { part: text, template: '' };
  const inner = text.slice(prefix.length, text.length - suffix.length).split('\n');
  const part = inner.filter((line) => !lines.includes(line)).join('\n');
  const name = hash('sha256', JSON.stringify(template), 'base64url').slice(0, 16);
  return part.trim() === '' ? { part: text, template: '' } : { part, template: name };
}

const none: QuestionTemplate = { prefix: '', suffix: '', lines: [] };

function commonStart(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return one.slice(0, length);
}

function backwards(text: string): string {
  return text.split('').reverse().join('');
}

/** Without half a word where the changing part begins or ends; '' where too little is left. */
function ofWords(text: string, place: 'start' | 'end'): string {
  const whole = place === 'start' ? text.replace(/[^\s]*$/, '') : text.replace(/^[^\s]*/, '');
  return whole.trim().length < recurringCharsMin ? '' : whole;
}
