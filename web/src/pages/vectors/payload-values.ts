/** A value of a payload, wherever in it. */
export interface PayloadValue {
  /** Own key in its payload. */
  id: string;
  /** Name for people: `metadata.source`. */
  name: string;
  /** Name for a filter; null for a name that no path can express. */
  path: string | null;
  value: unknown;
}

/** Values shown of a payload, at most; further ones are in its JSON alone. */
const valuesMax = 40;
const depthMax = 4;

/** Values of a payload, those of inner objects and of lists one by one. */
export function valuesIn(payload: Readonly<Record<string, unknown>>): PayloadValue[] {
  const values: PayloadValue[] = [];
  const add = (name: string, path: string | null, value: unknown, depth: number) => {
    if (values.length >= valuesMax) return;
    if (Array.isArray(value) && depth < depthMax) {
      for (const one of value) {
        const inner = typeof one === 'object' && one !== null;
        add(name, inner && path !== null ? `${path}[]` : path, one, depth + 1);
      }
    } else if (typeof value === 'object' && value !== null && depth < depthMax) {
      for (const [key, one] of Object.entries(value)) {
        const step = stepOf(key);
        const begin = path === '' ? '' : `${path}.`;
        add(name === '' ? key : `${name}.${key}`, path === null || step === null ? null : begin + step, one, depth + 1);
      }
    } else values.push({ id: `${values.length} ${name}`, name, path, value });
  };
  add('', '', payload, 0);
  return values;
}

/** A key as a part of a path. */
function stepOf(key: string): string | null {
  if (/^[\p{Alphabetic}\p{N}_-]+$/u.test(key)) return key;
  return /["\\]/.test(key) || key === '' ? null : `"${key}"`;
}

/** Longer texts are read, not filtered by. */
const valueCharsMax = 120;

export function isLongText(value: unknown): value is string {
  return typeof value === 'string' && value.length > valueCharsMax;
}

/** Values for a filter. */
export function isFilterValue(value: unknown): value is string | number | boolean {
  return !isLongText(value) && ['string', 'number', 'boolean'].includes(typeof value);
}

/** A text unchanged, anything else as JSON. */
export function shownValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
