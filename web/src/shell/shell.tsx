import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, Suspense, useCallback, useMemo, useState } from 'react';
import type { Session } from '../api/session.ts';
import { showZone, useZone } from '../parts/ranges/zone.ts';
import { Toasts } from '../parts/toast.tsx';
import { ConnectionNote } from './connection-note.tsx';
import { placesOf } from './navigation.ts';
import { Palette } from './palette.tsx';
import { PhoneBar } from './phone-bar.tsx';
import { ShortcutsDialog, useShortcuts } from './shortcuts.tsx';
import { Sidebar } from './sidebar.tsx';

/** Everything around a page. */
export function Shell({ session, children }: { session: Session; children: ReactNode }) {
  const [open, setOpen] = useState<'palette' | 'shortcuts' | null>(null);
  const groups = useMemo(() => placesOf(session), [session]);
  const places = useMemo(() => groups.flatMap((group) => group.places), [groups]);
  const navigate = useNavigate();
  const go = useCallback((to: string) => void navigate({ to }), [navigate]);
  const close = useCallback(() => setOpen(null), []);
  const zone = useZone();
  showZone(zone);
  useShortcuts(places, { go, open: setOpen });
  return (
    <div className="flex h-dvh flex-col md:flex-row">
      <a
        href="#page"
        className="-translate-y-12 fixed top-2 left-2 z-50 rounded-md bg-accent px-3 py-1.5 text-accent-ink focus:translate-y-0"
      >
        Skip to the page
      </a>
      <Sidebar groups={groups} session={session} onOpen={setOpen} />
      {/* What is read aloud alone is placed within, or it would make the document longer. */}
      <main id="page" tabIndex={-1} className="relative min-h-0 min-w-0 flex-1 overflow-y-auto outline-none">
        <ConnectionNote />
        {/* Another zone changes every time that the page shows. */}
        <Suspense key={zone}>{children}</Suspense>
      </main>
      <PhoneBar groups={groups} session={session} onOpen={setOpen} />
      <Palette open={open === 'palette'} onClose={close} places={places} session={session} go={go} />
      <ShortcutsDialog open={open === 'shortcuts'} onClose={close} places={places} />
      <Toasts />
    </div>
  );
}
