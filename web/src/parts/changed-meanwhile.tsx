import { ApiError } from '../api/request.ts';
import { Button } from './button.tsx';
import { Note } from './error-note.tsx';

/** What is there now, when somebody else changed it first; null for every other failure. */
export function currentOf<Thing>(error: Error | null): Thing | null {
  if (!(error instanceof ApiError) || error.status !== 409) return null;
  return (error.members.current as Thing | undefined) ?? null;
}

interface ChangedMeanwhileProps {
  /** What the form began with, and what is there now, field by field. */
  before: Readonly<Record<string, unknown>>;
  now: Readonly<Record<string, unknown>>;
  /** Takes what is there now as the new beginning, and keeps what was typed. */
  onGoOn: () => void;
  /** Takes what is there now, and throws away what was typed. */
  onTake: () => void;
}

/** Says what another person made of a thing while this one had it open. */
export function ChangedMeanwhile({ before, now, onGoOn, onTake }: ChangedMeanwhileProps) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])].filter(
    (name) => text(before[name]) !== text(now[name]),
  );
  return (
    <Note tone="warn">
      <p className="font-medium">Somebody else changed this meanwhile. Nothing of yours was written.</p>
      <ul className="mt-1">
        {names.map((name) => (
          <li key={name} className="[overflow-wrap:anywhere]">
            <code className="font-mono text-xs">{name}</code>: {text(before[name])} → {text(now[name])}
          </li>
        ))}
      </ul>
      <div className="mt-2 flex flex-wrap gap-2">
        <Button onClick={onGoOn}>Keep what I typed</Button>
        <Button look="quiet" onClick={onTake}>
          Take theirs
        </Button>
      </div>
    </Note>
  );
}

function text(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
