import { CornerDownLeft, FileSearch, LogOut } from 'lucide-react';
import { Dialog as Radix } from 'radix-ui';
import { type KeyboardEvent, type ReactNode, useId, useState } from 'react';
import { type Session, useLogOut } from '../api/session.ts';
import { setTheme } from '../parts/theme.ts';
import { themes } from './account-menu.tsx';
import type { Place } from './navigation.ts';
import { Kbd } from './shortcuts.tsx';

interface Command {
  title: string;
  icon: ReactNode;
  /** Shown at its right. */
  keys?: readonly string[];
  run: () => void;
}

interface PaletteProps {
  open: boolean;
  onClose: () => void;
  places: readonly Place[];
  session: Session;
  go: (to: string) => void;
}

/** ⌘K: go anywhere, find a request by its id, do what the menus do. */
export function Palette({ open, onClose, ...rest }: PaletteProps) {
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <div className="fixed inset-0 z-40 bg-black/40" aria-hidden />
        <Radix.Content
          aria-describedby={undefined}
          className="-translate-x-1/2 fixed top-[12dvh] left-1/2 z-50 w-[calc(100%-2rem)] max-w-lg overflow-hidden rounded-xl border border-line-strong bg-raised outline-none"
        >
          <Radix.Title className="sr-only">Search</Radix.Title>
          <Finder onClose={onClose} {...rest} />
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

function Finder({ onClose, places, session, go }: Omit<PaletteProps, 'open'>) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const logOut = useLogOut();
  const commands: Command[] = [
    ...places.map(({ title, icon: Icon, key, to }) => ({ title, icon: <Icon />, keys: ['g', key], run: () => go(to) })),
    ...themes.map(({ value, label, icon: Icon }) => ({
      title: `Theme: ${label.toLowerCase()}`,
      icon: <Icon />,
      run: () => setTheme(value),
    })),
    { title: 'Log out', icon: <LogOut />, run: () => void logOut() },
  ];
  const found = [...requestOf(text, session, go), ...commands.filter(({ title }) => matches(title, text))];
  const chosen = Math.min(at, found.length - 1);
  const run = (command: Command | undefined) => {
    if (command === undefined) return;
    onClose();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) setAt((chosen + step + found.length) % Math.max(1, found.length));
    else if (event.key === 'Enter') run(found[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <input
        role="combobox"
        aria-expanded
        aria-controls={`${id}-list`}
        aria-activedescendant={chosen >= 0 ? `${id}-${chosen}` : undefined}
        aria-label="Search pages, requests and actions"
        placeholder="Go to a page, find a request by its id…"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
        className="h-12 w-full border-line border-b bg-transparent px-4 text-base outline-none"
      />
      {found.length === 0 && <p className="px-4 py-6 text-center text-muted">Nothing matches.</p>}
      <div
        id={`${id}-list`}
        role="listbox"
        aria-label="Found"
        className="max-h-[50dvh] overflow-y-auto p-1 empty:hidden"
      >
        {found.map((command, place) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys.
          <div
            key={command.title}
            id={`${id}-${place}`}
            role="option"
            tabIndex={-1}
            aria-selected={place === chosen}
            onClick={() => run(command)}
            onMouseMove={() => setAt(place)}
            className="flex h-9 items-center gap-2.5 rounded-md px-3 text-sm aria-selected:bg-hover [&>svg]:size-4 [&>svg]:text-muted"
          >
            {command.icon}
            <span className="min-w-0 flex-1 truncate">{command.title}</span>
            {place === chosen ? <CornerDownLeft aria-hidden /> : command.keys?.map((key) => <Kbd key={key}>{key}</Kbd>)}
          </div>
        ))}
      </div>
    </>
  );
}

function requestOf(text: string, session: Session, go: (to: string) => void): Command[] {
  const id = text.trim();
  if (session.kind !== 'operator' || !/^req_[\w-]{6,}$/.test(id)) return [];
  return [{ title: `Request ${id}`, icon: <FileSearch />, run: () => go(`/dashboard/requests/${id}`) }];
}

/** Its letters stand there in this order: `usg` finds Usage. */
function matches(title: string, text: string): boolean {
  let at = 0;
  const letters = title.toLowerCase();
  for (const letter of text.toLowerCase().replaceAll(' ', '')) {
    at = letters.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}
