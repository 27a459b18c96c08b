import { useEffect, useRef } from 'react';
import { ApiError } from '../../api/request.ts';
import { Button } from '../button.tsx';
import { Note } from '../error-note.tsx';

/** The present value, when another person changed it first; null for every other failure. */
export function currentOf<Thing>(error: Error | null): Thing | null {
  if (!(error instanceof ApiError) || error.status !== 409) return null;
  return (error.members.current as Thing | undefined) ?? null;
}

/**
 * Does what a person has confirmed. When another person changed the thing first, `onChanged` gets it, and the error says
 * so in words for people.
 */
export async function unlessChanged<Thing>(
  change: () => Promise<unknown>,
  onChanged: (current: Thing) => Promise<unknown>,
): Promise<void> {
  try {
    await change();
  } catch (error) {
    const current = currentOf<Thing>(error as Error);
    if (current === null) throw error;
    await onChanged(current);
    throw new Error('Another person has changed this, and nothing was done. Look at it again first.');
  }
}

/** A thing as its form writes it, field by field. */
export type Written = Readonly<Record<string, unknown>>;

interface ChangedMeanwhileProps {
  /** The form's initial value. */
  before: Written;
  /** The present value. */
  theirs: Written;
  /** The typed value. */
  yours: Written;
  /** Goes on from the present value, with this in the form. */
  onGoOn: (next: Written) => void;
}

/** Says which fields another person changed while this one had the form open, and what becomes of one's own. */
export function ChangedMeanwhile({ before, theirs, yours, onGoOn }: ChangedMeanwhileProps) {
  const note = useRef<HTMLDivElement>(null);
  // In a long form it may be above the visible part.
  useEffect(() => note.current?.focus(), []);
  const names = [...new Set([before, theirs, yours].flatMap(Object.keys))];
  const changed = names.filter((name) => differ(before, theirs, name) || differ(before, yours, name));
  const shown = (now: Written, name: string) => (differ(before, now, name) ? text(now[name]) : 'unchanged');
  const cell = 'py-1 pr-3 align-top [overflow-wrap:anywhere]';
  return (
    <div ref={note} tabIndex={-1} className="outline-none">
      <Note tone="warn">
        <p role="alert" className="font-medium">
          Another person has changed this. Your changes have not been saved.
        </p>
        {changed.length === 0 ? (
          <p className="mt-1">No field of this form has changed.</p>
        ) : (
          <table aria-label="What was changed" className="mt-2 w-full table-fixed text-left text-xs">
            <thead>
              <tr>
                {['Field', 'Theirs', 'Yours'].map((title) => (
                  <th key={title} scope="col" className={`${cell} font-medium`}>
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {changed.map((name) => (
                <tr key={name}>
                  <th scope="row" className={`${cell} font-mono font-normal`}>
                    {name}
                  </th>
                  <td className={cell}>{shown(theirs, name)}</td>
                  <td className={cell}>{shown(yours, name)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        <div className="mt-2 flex flex-wrap gap-2">
          <Button onClick={() => onGoOn(mine(names))}>Keep my changes</Button>
          <Button look="quiet" onClick={() => onGoOn(theirs)}>
            Use theirs
          </Button>
        </div>
      </Note>
    </div>
  );

  /** The present value with the fields that were changed here; untouched ones stay theirs. */
  function mine(all: readonly string[]): Written {
    const fields = all.map((name) => [name, differ(before, yours, name) ? yours[name] : theirs[name]] as const);
    return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
  }
}

function differ(one: Written, other: Written, name: string): boolean {
  return text(one[name]) !== text(other[name]);
}

function text(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
