import { Unplug } from 'lucide-react';
import { useSyncExternalStore } from 'react';
import { isReachable, onReachable } from '../api/connection.ts';
import { Note } from '../parts/error-note.tsx';

/** Is above the page while Culvert does not answer. */
export function ConnectionNote() {
  const reachable = useSyncExternalStore(onReachable, isReachable);
  if (reachable) return null;
  return (
    <div className="sticky top-0 z-30 bg-ground p-2">
      <Note tone="warn" icon={<Unplug />}>
        <span role="status">
          Culvert does not answer. This page tries again every two seconds and keeps what you typed.
        </span>
      </Note>
    </div>
  );
}
