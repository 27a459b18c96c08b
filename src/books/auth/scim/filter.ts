import { invalid, refuse } from '../../../kernel/failure.ts';
import { isObject, type JsonValue } from '../../../kernel/json.ts';

/* Filters of SCIM (RFC 7644 §3.4.2.2), as directories look for users and groups by them before they create or change one. */

/** Whether a resource, or an element of one of its lists, is wanted. */
export type Filter = (value: JsonValue) => boolean;

const charsMax = 1_024;
const token = /\s*("(?:[^"\\]|\\.)*"|[()[\]]|[^\s()[\]"]+)/y;
/** Attributes whose letters' case counts. All others of text are compared without it. */
const exact = new Set(['id', 'externalid']);
/** Compared as moments, in whatever time zone and with whatever fractions of seconds they are written. */
const times = new Set(['meta.created', 'meta.lastmodified']);

const comparisons: Readonly<Record<string, (have: string, want: string) => boolean>> = {
  eq: (have, want) => have === want,
  ne: (have, want) => have !== want,
  co: (have, want) => have.includes(want),
  sw: (have, want) => have.startsWith(want),
  ew: (have, want) => have.endsWith(want),
  gt: (have, want) => have > want,
  ge: (have, want) => have >= want,
  lt: (have, want) => have < want,
  le: (have, want) => have <= want,
};

/** Refuses a text that is no filter, with an example of one. */
export function filterOf(text: string): Filter {
  const tokens = tokensOf(text);
  let at = 0;
  const next = () => tokens[at]?.toLowerCase();
  const filter = either();
  return at === tokens.length ? filter : wrong();

  function takes(word: string): boolean {
    if (next() !== word) return false;
    at++;
    return true;
  }

  function either(): Filter {
    const parts = [both()];
    while (takes('or')) parts.push(both());
    return (value) => parts.some((part) => part(value));
  }

  function both(): Filter {
    const parts = [one()];
    while (takes('and')) parts.push(one());
    return (value) => parts.every((part) => part(value));
  }

  function one(): Filter {
    const negated = takes('not');
    if (!takes('(')) return negated ? wrong() : attribute();
    const inner = either();
    if (!takes(')')) wrong();
    return negated ? (value) => !inner(value) : inner;
  }

  function attribute(): Filter {
    const path = pathOf(tokens[at++] ?? wrong());
    if (!takes('[')) return compared(path);
    const inner = either();
    if (!takes(']')) wrong();
    const of = (value: JsonValue) => valuesAt(value, path).filter(inner);
    if (next()?.startsWith('.') !== true) return (value) => of(value).length > 0;
    const behind = compared(pathOf((tokens[at++] ?? '').slice(1)));
    return (value) => of(value).some(behind);
  }

  function compared(path: readonly string[]): Filter {
    const word = tokens[at++]?.toLowerCase() ?? wrong();
    if (word === 'pr') return (value) => valuesAt(value, path).some((one) => one !== null && one !== '');
    const compare = (Object.hasOwn(comparisons, word) && comparisons[word]) || wrong();
    const name = path.join('.');
    const isTime = times.has(name);
    const spelled = (one: JsonValue) => {
      const text = textOf(one);
      return exact.has(name) ? text : isTime && Date.parse(text) ? new Date(text).toISOString() : text.toLowerCase();
    };
    const want = spelled(literal(tokens[at++] ?? wrong()));
    // "Not equal" holds where none is equal, also where there is none.
    if (word === 'ne') return (value) => valuesAt(value, path).every((one) => compare(spelled(one), want));
    return (value) => valuesAt(value, path).some((one) => compare(spelled(one), want));
  }
}

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  if (text.length > charsMax) wrong();
  token.lastIndex = 0;
  for (let end = 0; end < text.trimEnd().length; end = token.lastIndex) {
    const [, found] = token.exec(text) ?? wrong();
    tokens.push(found ?? '');
  }
  return tokens;
}

/** Names of a path in lower case, without the schema before it. */
function pathOf(name: string): string[] {
  const path = name.toLowerCase().replace(/^urn:.*:/, '');
  return /^[a-z$][\w$-]*(\.[a-z$][\w$-]*)*$/.test(path) ? path.split('.') : wrong();
}

/** Values at a path, those of all elements where a list is on the way; of a list of objects their `value`s. */
function valuesAt(value: JsonValue, path: readonly string[]): JsonValue[] {
  let found = [value];
  for (const name of path) {
    found = found.flatMap((one): JsonValue[] => {
      if (!isObject(one)) return [];
      const key = Object.keys(one).find((member) => member.toLowerCase() === name);
      const inner = (key === undefined ? undefined : one[key]) ?? [];
      return Array.isArray(inner) ? inner : [inner];
    });
  }
  return found;
}

function textOf(value: JsonValue): string {
  if (isObject(value)) return textOf(value.value ?? '');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function literal(text: string): JsonValue {
  try {
    return JSON.parse(/^(true|false|null)$/i.test(text) ? text.toLowerCase() : text) as JsonValue;
  } catch {
    return wrong();
  }
}

function wrong(): never {
  const example = 'userName eq "anna@example.org" and active eq true';
  return refuse(invalid('filter', `filter: expected comparisons such as ${example} (RFC 7644, section 3.4.2.2)`));
}
