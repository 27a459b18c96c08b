import type { PassedAgain } from '../spine/endpoint.ts';
import type { PassedForm } from '../spine/passed-form.ts';
import type { CachedPassed } from './packed-entry.ts';

/** Shorter ids may mean something else, too: some servers count from 1. */
const idCharsMin = 8;

/** Members that hold the id and the time of an answer, in formats whose answers repeat nothing of their request. */
const idMembers: Partial<Record<PassedForm['dialect'], string>> = {
  'openai-chat': 'id',
  'anthropic-messages': 'id',
  gemini: 'responseId',
};
const timeMembers = 'created|createTime';

/** Whether such an answer can be given again with a new id and time. */
export function isRenewable({ dialect, id }: PassedForm): boolean {
  return Object.hasOwn(idMembers, dialect) && id !== null && id.length >= idCharsMin && /^[\w.:-]+$/.test(id);
}

/** A text around the places of the id and the time. */
interface Template {
  /** One more than `places`. */
  texts: readonly string[];
  places: readonly ('id' | 'seconds' | 'time')[];
}

/** Templates of an answer, by whatever makes a difference to its callers. */
const templates = new WeakMap<CachedPassed, Map<string, Template>>();
/** Callers choose names of models. */
const templatesMax = 4;

/** The answer with a new id and a new time; null: it cannot be read. */
export function renewedPassed(cached: CachedPassed, { like, id, bytes }: PassedAgain, nowMs: number): string | null {
  const known = templates.get(cached) ?? new Map<string, Template>();
  let template = known.get(like);
  if (template === undefined) {
    const renewed = bytes();
    if (renewed === null) return null;
    template = templateOf(renewed.toString('utf8'), cached.form);
    if (known.size === templatesMax) known.clear();
    templates.set(cached, known.set(like, template));
  }
  const { texts, places } = template;
  const values = { id, seconds: String(Math.floor(nowMs / 1_000)), time: new Date(nowMs).toISOString() };
  let made = texts[0] ?? '';
  for (const [at, place] of places.entries()) made += values[place] + (texts[at + 1] ?? '');
  return made;
}

/** A quote within a text of the answer has a backslash before it: members match, and texts do not. */
function templateOf(text: string, { dialect, id }: PassedForm): Template {
  const ofId = `(?<="(?:${idMembers[dialect]})"\\s*:\\s*")${(id ?? '').replaceAll('.', '\\.')}(?=")`;
  const ofTime = `(?<="(?:${timeMembers})"\\s*:\\s*)(?:\\d+|"[^"]*")`;
  const texts: string[] = [];
  const places: Template['places'][number][] = [];
  let end = 0;
  for (const match of text.matchAll(new RegExp(`${ofId}|${ofTime}`, 'g'))) {
    const isTime = match[0].startsWith('"');
    texts.push(text.slice(end, match.index + (isTime ? 1 : 0)));
    end = match.index + match[0].length - (isTime ? 1 : 0);
    places.push(isTime ? 'time' : match[0] === id ? 'id' : 'seconds');
  }
  return { texts: [...texts, text.slice(end)], places };
}
