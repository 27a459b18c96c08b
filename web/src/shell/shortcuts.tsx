import { Fragment, type ReactNode, useEffect } from 'react';
import { Dialog } from '../parts/dialog.tsx';
import type { Place } from './navigation.ts';

const onApple = /Mac|iP(hone|ad)/.test(navigator.platform);
export const commandKey = onApple ? '⌘' : 'Ctrl';

/** Between `g` and the letter that says where to. */
const chordMs = 1_200;

interface Deeds {
  go: (to: string) => void;
  open: (what: 'palette' | 'shortcuts') => void;
}

/** ⌘K anywhere; `/`, `?` and `g` with a letter outside text fields. */
export function useShortcuts(places: readonly Place[], { go, open }: Deeds): void {
  useEffect(() => {
    let chordUntilMs = 0;
    const onKey = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        open('palette');
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
      if (event.timeStamp < chordUntilMs) {
        chordUntilMs = 0;
        const place = places.find(({ key }) => key === event.key);
        if (place === undefined) return;
        event.preventDefault();
        go(place.to);
      } else if (event.key === 'g') {
        chordUntilMs = event.timeStamp + chordMs;
      } else if (event.key === '/') {
        event.preventDefault();
        document.querySelector<HTMLElement>('#page [data-search]')?.focus();
      } else if (event.key === '?') {
        event.preventDefault();
        open('shortcuts');
      }
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [places, go, open]);
}

/** In a field, or in a dialog or menu, which have other keys. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.closest('input, textarea, select, [role=dialog], [role=menu]') !== null)
  );
}

export function Kbd({ children }: { children: ReactNode }) {
  return (
    <kbd className="rounded border border-line bg-ground px-1 font-sans text-faint text-xs leading-4">{children}</kbd>
  );
}

export function ShortcutsDialog({
  open,
  onClose,
  places,
}: {
  open: boolean;
  onClose: () => void;
  places: readonly Place[];
}) {
  const lines = [
    { keys: [commandKey, 'K'], does: 'Search pages, requests and actions' },
    { keys: ['/'], does: 'Go to the search field of a page' },
    { keys: ['?'], does: 'Show these shortcuts' },
    ...places.map(({ key, title }) => ({ keys: ['g', key], does: title })),
  ];
  return (
    <Dialog open={open} onClose={onClose} title="Keyboard shortcuts">
      <dl className="grid grid-cols-[5rem_1fr] gap-y-2 text-sm">
        {lines.map(({ keys, does }) => (
          <Fragment key={does}>
            <dt className="flex gap-1">
              {keys.map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </Fragment>
        ))}
      </dl>
    </Dialog>
  );
}
