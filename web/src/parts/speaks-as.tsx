import { Link } from '@tanstack/react-router';
import { KeyRound } from 'lucide-react';
import type { Callers } from '../api/caller.ts';
import { useSession } from '../api/session.ts';
import { buttonClass } from './button.tsx';
import { Choose } from './choose.tsx';
import { Empty } from './empty.tsx';

/** Picks the key that an operator speaks for; nothing for whoever holds one. */
export function SpeaksAs({ caller, keys, choose }: Callers) {
  if (useSession().kind === 'key' || caller == null) return null;
  return (
    <div className="flex items-center gap-2 text-muted text-sm">
      <span className="hidden sm:inline">speaks as</span>
      <Choose
        label="Key to speak as"
        value={caller.key.id}
        options={keys.map(({ id, name, account, prefix }) => ({
          value: id,
          label: `${account} · ${name}`,
          words: id,
          hint: prefix ?? undefined,
        }))}
        onValue={choose}
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
      title="There is no key to speak as"
      action={
        <Link to="/dashboard/keys" className={buttonClass('main')}>
          Make a key
        </Link>
      }
    >
      Every call is made with a key and counts for its account. Make one, and come back.
    </Empty>
  );
}
