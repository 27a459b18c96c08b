import { useEffect, useState } from 'react';

/** The text once it has not changed for `restMs`: what is being typed is not asked for at each key. */
export function useRested(text: string, restMs: number): string {
  const [rested, setRested] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), restMs);
    return () => clearTimeout(timer);
  }, [text, restMs]);
  return rested;
}
