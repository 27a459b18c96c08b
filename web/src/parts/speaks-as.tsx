import { Link } from '@tanstack/react-router';
import { KeyRound } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Caller, Callers } from '../api/caller.ts';
import { useSession } from '../api/session.ts';
import { buttonClass } from './button.tsx';
import { Empty } from './empty.tsx';
import { ErrorNote } from './error-note.tsx';
import { Choose } from './forms/choose.tsx';
import { SkeletonRows } from './skeleton.tsx';

/** Picks the key that an operator speaks for; nothing for a person with one key. */
export function SpeaksAs({ caller, keys, choose, onText }: Callers) {
  if (useSession().kind === 'key' || keys.length === 0) return null;
  return (
    <div className="flex items-center gap-2 text-muted text-sm">
      <span className="hidden sm:inline">Key</span>
      <Choose
        label="Key to use"
        value={caller?.key.id ?? null}
        options={keys.map(({ id, name, account, prefix }) => ({
          value: id,
          label: `${account} · ${name}`,
          words: id,
          hint: prefix ?? undefined,
        }))}
        onValue={choose}
        onText={onText}
        className="w-48 text-ink"
      />
    </div>
  );
}

/** There is none to speak for. */
export function NoKey() {
  return (
    <Empty
      icon={<KeyRound />}
      title="There are no keys yet."
      action={
        <Link to="/dashboard/keys" className={buttonClass('main')}>
          Create a key
        </Link>
      }
    >
      Every call uses a key, and the account of the key pays. Create a key first.
    </Empty>
  );
}

/** Shows a page as the caller that is picked; until there is one, it shows why. */
export function AsCaller({
  caller,
  error,
  children,
}: Pick<Callers, 'caller' | 'error'> & { children: (caller: Caller) => ReactNode }) {
  if (caller != null) return children(caller);
  if (error !== null) return <ErrorNote error={error} />;
  return caller === null ? <NoKey /> : <SkeletonRows />;
}
