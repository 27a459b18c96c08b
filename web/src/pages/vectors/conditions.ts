/** One condition that was clicked together: a field of the payload against a value. */
export interface Condition {
  /** A path, as the server reads it: `metadata.source`. */
  key: string;
  how: How;
  value: string | number | boolean;
}

const words = { is: 'is', not: 'is not', from: 'is at least', to: 'is at most' } as const;
type How = keyof typeof words;

/** Conditions of an address; none where a user has changed it into something else. */
export function conditionsIn(text: string | undefined): Condition[] {
  try {
    const triples = JSON.parse(text ?? '[]') as [string, How, Condition['value']][];
    return triples
      .filter(([key, how]) => typeof key === 'string' && how in words)
      .map(([key, how, value]) => ({ key, how, value }));
  } catch {
    return [];
  }
}

/** For an address; '' for none. */
export function textOf(conditions: readonly Condition[]): string {
  return conditions.length === 0 ? '' : JSON.stringify(conditions.map(({ key, how, value }) => [key, how, value]));
}

/** `topic is not`. */
export function conditionText({ key, how }: Condition): string {
  return `${key} ${words[how]}`;
}

/** Its next meaning: a text is something or is not, a number may be a bound, too. */
export function turned(condition: Condition): Condition {
  const hows: readonly How[] = typeof condition.value === 'number' ? ['is', 'not', 'from', 'to'] : ['is', 'not'];
  return { ...condition, how: hows[(hows.indexOf(condition.how) + 1) % hows.length]! };
}

/** The filter of a call; undefined without conditions. */
export function filterOf(conditions: readonly Condition[]): object | undefined {
  if (conditions.length === 0) return undefined;
  const but = conditions.filter(({ how }) => how === 'not');
  const must = conditions.filter(({ how }) => how !== 'not');
  return { must: must.map(written), must_not: but.map(written) };
}

function written({ key, how, value }: Condition): object {
  if (how === 'from') return { key, range: { gte: value } };
  if (how === 'to') return { key, range: { lte: value } };
  // A number that is not whole has no `match`.
  if (typeof value === 'number' && !Number.isInteger(value)) return { key, range: { gte: value, lte: value } };
  return { key, match: { value } };
}
