import { CornerDownLeft, FileSearch, LogOut, Settings, UserRound } from 'lucide-react';
import { Dialog as Radix } from 'radix-ui';
import { type ReactNode, Suspense, useState } from 'react';
import { whyNot } from '../api/rights.ts';
import { type Session, useLogOut } from '../api/session.ts';
import { operatorPages } from '../pages/pages.ts';
import { settingsTabs } from '../pages/settings/tabs.ts';
import { useFocusBack } from '../parts/dialog.tsx';
import { Finder } from '../parts/finder.tsx';
import { prefixOf } from '../parts/key-prefix.ts';
import { lazyPart } from '../parts/lazy-part.ts';
import { setTheme } from '../parts/theme.ts';
import type { Place } from './navigation.ts';
import { Kbd } from './shortcuts.tsx';
import { themes } from './themes.ts';
import type { FoundEntry } from './use-entries.ts';

/** Read at the first letter: the first page needs none of it. */
const Entries = lazyPart(() => import('./entries.tsx'));

interface Command {
  title: string;
  icon: ReactNode;
  /** Kind of entry, and what tells it apart. */
  about?: string;
  /** Shown at its right. */
  keys?: readonly string[];
  run: () => void;
}

/** Icons of the lists that entries are in, by path. */
const icons = new Map(
  operatorPages.flatMap(({ pages }) =>
    pages.flatMap(({ path, nav }): [string, ReactNode][] =>
      nav === undefined ? [] : [[path, <nav.icon key={path} />]],
    ),
  ),
);

interface PaletteProps {
  open: boolean;
  onClose: () => void;
  places: readonly Place[];
  session: Session;
  go: (to: string) => void;
}

/** ⌘K: go anywhere, find a request by its id, do what the menus do. */
export function Palette({ open, onClose, ...rest }: PaletteProps) {
  const giveBack = useFocusBack(open);
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <div className="fixed inset-0 z-40 bg-black/40" aria-hidden />
        <Radix.Content
          aria-describedby={undefined}
          onCloseAutoFocus={giveBack}
          className="-translate-x-1/2 fixed top-[12dvh] left-1/2 z-50 w-[calc(100%-2rem)] max-w-lg overflow-hidden rounded-xl border border-line-strong bg-raised outline-none"
        >
          <Radix.Title className="sr-only">Search</Radix.Title>
          <Commands onClose={onClose} {...rest} />
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

function Commands({ onClose, places, session, go }: Omit<PaletteProps, 'open'>) {
  const logOut = useLogOut();
  const [typed, setTyped] = useState('');
  const [found, setFound] = useState<readonly FoundEntry[]>([]);
  const entries = found.map(
    ({ kind, name, more, to }): Command => ({
      title: name,
      about: more === '' ? kind : `${kind}, ${more}`,
      icon: icons.get(to.split(/[/?]/)[2] ?? '') ?? <FileSearch />,
      run: () => go(to),
    }),
  );
  const commands: Command[] = [
    ...places.map(({ title, icon: Icon, key, to }) => ({ title, icon: <Icon />, keys: ['g', key], run: () => go(to) })),
    ...(places.some(({ to }) => to === '/dashboard/settings') ? settingsTabs(session) : []).map(({ value, label }) => ({
      title: `Settings: ${label}`,
      icon: <Settings />,
      run: () => go(`/dashboard/settings?tab=${value}`),
    })),
    ...themes.map(({ value, label, icon: Icon }) => ({
      title: `Theme: ${label.toLowerCase()}`,
      icon: <Icon />,
      run: () => setTheme(value),
    })),
    { title: 'Log out', icon: <LogOut />, run: () => void logOut() },
  ];
  return (
    <>
      {typed !== '' && (
        <Suspense>
          <Entries text={typed} session={session} onFound={setFound} />
        </Suspense>
      )}
      <Finder
        label="Search pages, entries, requests and actions"
        list="Found"
        placeholder="Find a page, account, key, model, provider, end user, request id…"
        size="dialog"
        onText={setTyped}
        find={(text) => [
          ...requestOf(text, session, go),
          ...inOrder(commands, text === '' ? [] : entries, text),
          ...userOf(text, session, go),
        ]}
        keyOf={({ title, about = '' }) => `${about} ${title}`}
        onPick={({ run }) => {
          onClose();
          run();
        }}
        row={({ icon, title, about, keys }, chosen) => (
          <>
            {icon}
            <span className="min-w-0 flex-1 truncate">
              {title} {about !== undefined && <span className="text-muted text-xs">{about}</span>}
            </span>
            {chosen ? <CornerDownLeft aria-hidden /> : keys?.map((key) => <Kbd key={key}>{key}</Kbd>)}
          </>
        )}
      />
    </>
  );
}

function requestOf(text: string, session: Session, go: (to: string) => void): Command[] {
  const id = text.trim();
  if (session.kind !== 'operator' || !/^req_[\w-]{6,}$/.test(id)) return [];
  return [{ title: `Request ${id}`, icon: <FileSearch />, run: () => go(`/dashboard/requests/${id}`) }];
}

/** Requests of the end user of this id, in the last row: there is no list of end users. No secret comes into an address. */
function userOf(text: string, session: Session, go: (to: string) => void): Command[] {
  const user = prefixOf(text).trim();
  if (user === '' || /^(req_|sk-|bearer )/i.test(user) || whyNot(session, 'requests', 'read') !== null) return [];
  const to = `/dashboard/requests?${new URLSearchParams({ user })}`;
  return [{ title: `Requests of the end user ${user}`, icon: <UserRound />, run: () => go(to) }];
}

/** Pages that hold the text, then entries that do, then pages in which its letters occur. */
function inOrder(commands: readonly Command[], entries: readonly Command[], text: string): Command[] {
  const holds = ({ title }: Command) => title.toLowerCase().includes(text.trim().toLowerCase());
  const loosely = commands.filter((command) => !holds(command) && matches(command.title, text));
  return [...commands.filter(holds), ...entries, ...loosely];
}

/** Its letters occur there in this order: `usg` finds Usage. */
function matches(title: string, text: string): boolean {
  let at = 0;
  const letters = title.toLowerCase();
  for (const letter of text.toLowerCase().replaceAll(' ', '')) {
    at = letters.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}
