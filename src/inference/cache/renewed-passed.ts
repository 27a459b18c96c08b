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

/** Members match and texts do not: a quote in a text has a backslash. Arguments have such members further inside. */
function templateOf(text: string, { dialect, id }: PassedForm): Template {
  const ofId = `(?<="(?:${idMembers[dialect]})"\\s*:\\s*")${(id ?? '').replaceAll('.', '\\.')}(?=")`;
  const ofTime = `(?<="(?:${timeMembers})"\\s*:\\s*)(?:\\d+|"[^"]*")`;
  const texts: string[] = [];
  const places: Template['places'][number][] = [];
  let end = 0;
  const depthAt = depthIn(text);
  for (const match of text.matchAll(new RegExp(`${ofId}|${ofTime}`, 'g'))) {
    if (depthAt(match.index) > depthMax) continue;
    const isTime = match[0].startsWith('"');
    texts.push(text.slice(end, match.index + (isTime ? 1 : 0)));
    end = match.index + match[0].length - (isTime ? 1 : 0);
    places.push(isTime ? 'time' : match[0] === id ? 'id' : 'seconds');
  }
  return { texts: [...texts, text.slice(end)], places };
}

/** Lists and objects around the id of an answer: an event and its message, or a list and its chunk. */
const depthMax = 2;
const [newline, quote, backslash] = ['\n', '"', '\\'].map((sign) => sign.charCodeAt(0));

/** Tells how many lists and objects are around places of JSON, which are given in their order. */
function depthIn(text: string): (at: number) => number {
  let [place, depth] = [0, 0];
  let isInText = false;
  return (at) => {
    for (; place < at; place += 1) {
      const unit = text.charCodeAt(place);
      // No text of JSON goes over a line's end; a comment in a stream may have any quote.
      if (unit === newline) isInText = false;
      else if (unit === quote) isInText = !isInText;
      else if (isInText) place += Number(unit === backslash);
      else if (unit === 0x7b || unit === 0x5b) depth += 1;
      else if (unit === 0x7d || unit === 0x5d) depth -= 1;
    }
    return depth;
  };
}
