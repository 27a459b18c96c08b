import type { Result } from '../../formats/dialects/dialect.ts';
import { folded, type MemberNames } from '../../formats/dialects/named-objects.ts';
import { invalid } from '../../kernel/failure.ts';
import type { JsonValue } from '../../kernel/json.ts';
import { type ParsedObject, parseObject } from '../../kernel/parse-object.ts';

/**
 * The body of a request to a model, by `kernel/parse-object`. It goes on as bytes and is read twice: by us, who decide by
 * it, and by an upstream with another parser. A body that the two could read differently is refused (faults.md S21).
 */
export function parseBody(raw: Buffer): Result<ParsedObject> {
  const parsed = parseObject(raw);
  if (!parsed.ok) return parsed;
  const { body } = parsed.value;
  for (const name of Object.keys(body)) {
    if (/^[a-z_]+$/.test(name)) continue;
    const plain = folded(name);
    if (plain === name || !Object.hasOwn(body, plain)) continue;
    const message = `The body also has '${plain}' in another spelling, which some servers read instead.`;
    return { ok: false, failure: invalid(name.slice(0, 64), message) };
  }
  return parsed;
}

/** The members of all objects in a body. */
export interface MemberSurvey {
  /** How many, however deep. Fewer than its text has: one hides another of the same name. */
  count: number;
  /** One of them has a name that was looked for, in whatever case of letters. */
  hasNamed: boolean;
}

/** Goes over a parsed value once, and adds to `survey`. */
export function surveyMembers(value: JsonValue | undefined, names: MemberNames, survey: MemberSurvey): void {
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1) {
      if (typeof value[at] === 'object') surveyMembers(value[at], names, survey);
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const name in value) {
      survey.count += 1;
      if (names.seen.get(name) ?? isNamed(name, names)) survey.hasNamed = true;
      if (typeof value[name] === 'object') surveyMembers(value[name], names, survey);
    }
  }
}

/** Folding each name of a long conversation would be half the survey. */
const seenMax = 1_024;

function isNamed(name: string, { folded: names, seen }: MemberNames): boolean {
  const is = names.has(folded(name));
  if (seen.size < seenMax) seen.set(name, is);
  return is;
}
