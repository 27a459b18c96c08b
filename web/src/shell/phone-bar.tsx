import { Link } from '@tanstack/react-router';
import { Menu as MenuIcon, Search } from 'lucide-react';
import { useState } from 'react';
import type { Session } from '../api/session.ts';
import { Dialog } from '../parts/dialog.tsx';
import { AccountMenu } from './account-menu.tsx';
import type { PlaceGroup } from './navigation.ts';
import { isHome, PlaceLink } from './sidebar.tsx';

interface PhoneBarProps {
  groups: readonly PlaceGroup[];
  session: Session;
  onOpen: (what: 'palette' | 'shortcuts') => void;
}

const item =
  'flex h-full min-w-0 flex-1 flex-col items-center justify-center gap-0.5 text-muted text-xs [&>svg]:size-5 data-[status=active]:text-accent';

/** The navigation of a phone: four pages, and a drawer with all of them. */
export function PhoneBar({ groups, session, onOpen }: PhoneBarProps) {
  const [open, setOpen] = useState(false);
  const close = () => setOpen(false);
  const places = groups.flatMap((group) => group.places);
  return (
    <>
      <nav
        aria-label="Pages"
        className="flex h-14 shrink-0 border-line border-t bg-panel pb-[env(safe-area-inset-bottom)] md:hidden"
      >
        {places
          .filter(({ phone }) => phone)
          .map(({ to, title, icon: Icon }) => (
            <Link key={to} to={to} activeOptions={{ exact: isHome(to), includeSearch: false }} className={item}>
              <Icon aria-hidden />
              {title}
            </Link>
          ))}
        <button type="button" onClick={() => setOpen(true)} className={item}>
          <MenuIcon aria-hidden />
          More
        </button>
      </nav>
      <Dialog open={open} onClose={close} title="Culvert">
        <div className="flex flex-col gap-3">
          <button
            type="button"
            onClick={() => {
              close();
              onOpen('palette');
            }}
            className="flex h-9 items-center gap-2 rounded-md border border-line-strong px-3 text-muted"
          >
            <Search className="size-4" aria-hidden /> Search
          </button>
          <nav aria-label="All pages" className="grid grid-cols-2 gap-x-2 gap-y-0.5">
            {places.map((place) => (
              <PlaceLink key={place.to} place={place} onGo={close} />
            ))}
          </nav>
          <div className="border-line border-t pt-3">
            <AccountMenu session={session} onShortcuts={() => onOpen('shortcuts')} />
          </div>
        </div>
      </Dialog>
    </>
  );
}
