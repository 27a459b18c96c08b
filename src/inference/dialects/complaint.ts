import { type Failure, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonValue } from '../../kernel/json.ts';

/** One fault in a request: where, what stands there, what should. */
export interface Complaint {
  /** OpenAI's spelling: `messages[0].content`; '' is the value checked itself. */
  path: string;
  /** Undefined when it is missing. */
  got: JsonValue | undefined;
  /** Ends the sentence "send …". */
  send: string;
}

/** Null when the value is as it should be. Checks allocate only when they complain. */
export type Check = (value: JsonValue) => Complaint | null;

export function complain(path: string, got: JsonValue | undefined, send: string): Complaint {
  return { path, got, send };
}

/** The same complaint, seen from the holder of the value: `within('messages[0]', …)`. */
export function within(holder: string, complaint: Complaint): Complaint {
  const { path } = complaint;
  const joined = path === '' ? holder : path.startsWith('[') ? `${holder}${path}` : `${holder}.${path}`;
  return { ...complaint, path: joined };
}

export function asFailure({ path, got, send }: Complaint): Failure {
  const message =
    got === undefined ? `Missing '${path}': send ${send}.` : `Invalid '${path}': got ${shown(got)}; send ${send}.`;
  return invalid(path, message);
}

const shownCharsMax = 60;

/** A value as an error message may show it: short, and without raw control characters. */
function shown(value: JsonValue): string {
  if (typeof value === 'string') {
    return value.length > shownCharsMax
      ? `a string of ${value.length} characters (${JSON.stringify(value.slice(0, shownCharsMax))}…)`
      : `the string ${JSON.stringify(value)}`;
  }
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (isObject(value)) return 'an object';
  return String(value);
}
