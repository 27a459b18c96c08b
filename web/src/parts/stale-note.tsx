import { ApiError } from '../api/request.ts';
import { Button } from './button.tsx';
import { Note } from './error-note.tsx';

/** What is there now, where somebody else changed it meanwhile; null for any other error. */
export function currentIn<Row>(error: Error | null): Row | null {
  return error instanceof ApiError && error.status === 409
    ? ((error.members.current as Row | undefined) ?? null)
    : null;
}

/** Says that somebody else was first, and offers to begin again from what is there now. */
export function StaleNote({ error, onTake }: { error: Error; onTake: () => void }) {
  return (
    <Note tone="warn">
      <p>{error.message}</p>
      <Button className="mt-2" onClick={onTake}>
        Take over what is there now
      </Button>
    </Note>
  );
}
