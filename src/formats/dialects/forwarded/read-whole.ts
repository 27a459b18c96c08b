import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { type Fault, fault } from '../../neutral/outcome.ts';
import type { Usage } from '../../neutral/usage.ts';
import type { PassingFacts, PassingReader } from '../dialect.ts';
import { faultInside } from '../fault-inside.ts';
import { classOfError, readError } from '../openai-chat/errors.ts';

/** Error inside a 200; null if there is none. */
export function errorInside(body: unknown): Fault | null {
  const error = readError(body);
  return error === null ? null : faultInside(body, error, classOfError);
}

/** Why a 2xx body is not an answer; null when one of `members` holds a list, of at least `itemsMin`. */
export function faultInList(body: unknown, members: readonly string[], itemsMin: 0 | 1): Fault | null {
  const lists = isObject(body) ? members.map((name) => body[name]).filter(Array.isArray) : [];
  const [list] = lists;
  // An error may come together with an empty list.
  if (list === undefined || list.length === 0) {
    const error = errorInside(body);
    if (error !== null) return error;
  }
  if (list === undefined) return fault('malformed', `the answer has no '${members[0]}'`);
  return list.length < itemsMin ? fault('malformed', 'the answer is empty') : null;
}

/** Watches answers of endpoints that never stream. */
export function readWholeInPassing(
  faultIn: (body: unknown) => Fault | null,
  usageOf: (answer: JsonObject) => Usage | null,
): PassingReader {
  const seen: PassingFacts = { usage: null, terminal: false, outputTokensSeen: 0 };
  return {
    seen,
    step: () => ({ content: false, fault: fault('malformed', 'answered by a stream'), usageOnly: false }),
    whole(body) {
      const wrong = faultIn(body);
      if (wrong === null) seen.usage = usageOf(body as JsonObject);
      return wrong;
    },
  };
}
