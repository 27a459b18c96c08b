import { Link } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import type { Session } from '../api/session.ts';
import { classes } from '../parts/classes.ts';
import { AccountMenu } from './account-menu.tsx';
import { Mark } from './mark.tsx';
import type { Place, PlaceGroup } from './navigation.ts';
import { commandKey, Kbd } from './shortcuts.tsx';

interface SidebarProps {
  groups: readonly PlaceGroup[];
  session: Session;
  onOpen: (what: 'palette' | 'shortcuts') => void;
}

export function Sidebar({ groups, session, onOpen }: SidebarProps) {
  return (
    <aside className="hidden w-52 shrink-0 flex-col border-line border-r bg-panel md:flex">
      <Link to={groups[0]?.places[0]?.to ?? '/'} className="flex h-12 items-center gap-2 px-4">
        <Mark className="size-5" />
        <span className="font-semibold text-base">Culvert</span>
      </Link>
      <div className="px-2 pb-2">
        <button
          type="button"
          onClick={() => onOpen('palette')}
          className="flex h-8 w-full items-center gap-2 rounded-md border border-line px-2 text-muted text-sm hover:border-line-strong"
        >
          <Search className="size-3.5" aria-hidden />
          <span className="flex-1 text-left">Search</span>
          <Kbd>{commandKey} K</Kbd>
        </button>
      </div>
      <nav aria-label="Pages" className="min-h-0 flex-1 overflow-y-auto px-2 pb-2">
        {groups.map(({ title, places }) => (
          <div key={title} className="mb-3">
            {title !== null && <p className="px-2 pt-1 pb-1 text-faint text-xs">{title}</p>}
            <ul>
              {places.map((place) => (
                <li key={place.to}>
                  <PlaceLink place={place} />
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <div className="border-line border-t p-2">
        <AccountMenu session={session} onShortcuts={() => onOpen('shortcuts')} />
      </div>
    </aside>
  );
}

/** The first page's path is the beginning of all others. */
export function isHome(to: string): boolean {
  return to === '/dashboard' || to === '/account';
}

export function PlaceLink({ place: { to, title, icon: Icon }, onGo }: { place: Place; onGo?: () => void }) {
  return (
    <Link
      to={to}
      onClick={onGo}
      activeOptions={{ exact: isHome(to), includeSearch: false }}
      className={classes(
        'flex h-8 items-center gap-2.5 rounded-md px-2 text-muted text-sm hover:bg-hover hover:text-ink [&>svg]:size-4',
        'data-[status=active]:bg-accent-soft data-[status=active]:font-medium data-[status=active]:text-ink data-[status=active]:[&>svg]:text-accent',
      )}
    >
      <Icon aria-hidden />
      {title}
    </Link>
  );
}
