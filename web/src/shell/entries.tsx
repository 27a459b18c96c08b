import { useEffect } from 'react';
import type { Session } from '../api/session.ts';
import { type FoundEntry, useEntries } from './use-entries.ts';

interface EntriesProps {
  text: string;
  session: Session;
  onFound: (entries: readonly FoundEntry[]) => void;
}

/** Tells the palette which entries hold a text. It draws nothing. */
export default function Entries({ text, session, onFound }: EntriesProps) {
  const found = useEntries(text, session);
  const places = found.map(({ to }) => to).join(' ');
  // biome-ignore lint/correctness/useExhaustiveDependencies: each drawing has a new list of the same entries.
  useEffect(() => onFound(found), [places]);
  return null;
}
