import { useCallback, useState } from 'react';

/**
 * A state that survives a reload. `session`: as long as the tab is open; `browser`: for good. A value that does not
 * fit, or no longer has the shape of `initial`, is forgotten.
 */
export function useStored<Value>(
  name: string,
  initial: Value,
  place: 'session' | 'browser' = 'session',
): [Value, (next: Value | ((before: Value) => Value)) => void] {
  const [value, setValue] = useState<Value>(() => storedOr(name, initial, place));
  const set = useCallback(
    (next: Value | ((before: Value) => Value)) =>
      setValue((before) => {
        const after = typeof next === 'function' ? (next as (before: Value) => Value)(before) : next;
        keep(name, after, place);
        return after;
      }),
    [name, place],
  );
  return [value, set];
}

const storageOf = { session: sessionStorage, browser: localStorage };
const prefix = 'culvert.kept.';

export function keep(name: string, value: unknown, place: 'session' | 'browser'): void {
  try {
    storageOf[place].setItem(prefix + name, JSON.stringify(value));
  } catch {
    // Too large, as pictures are: what stood there before would be wrong.
    storageOf[place].removeItem(prefix + name);
  }
}

export function storedOr<Value>(name: string, initial: Value, place: 'session' | 'browser'): Value {
  const text = storageOf[place].getItem(prefix + name);
  if (text === null) return initial;
  try {
    const value = JSON.parse(text) as Value;
    if (Array.isArray(value) !== Array.isArray(initial) || typeof value !== typeof initial) return initial;
    return isRecord(initial) ? { ...initial, ...value } : value;
  } catch {
    return initial;
  }
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
