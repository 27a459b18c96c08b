import { useEffect, useRef, useState } from 'react';

/** A text as it is typed, and `take`, which gives it to `onValue`. A `value` that came from elsewhere replaces it. */
export function useTyped(value: string, onValue: (value: string) => void) {
  const [text, setText] = useState(value);
  const last = useRef(value);
  useEffect(() => {
    // What was taken here comes back without the spaces around it, while more is typed.
    if (value === last.current) return;
    last.current = value;
    setText(value);
  }, [value]);
  const take = (typed: string) => {
    const next = typed.trim();
    if (next === value) return;
    last.current = next;
    onValue(next);
  };
  return { text, setText, take };
}
