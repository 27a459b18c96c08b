import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { classes } from './classes.ts';

interface FinderProps<Item> {
  /** Name of the field, read aloud; `list` is that of the list of findings. */
  label: string;
  list: string;
  placeholder: string;
  /** Finds the items for a text, the best first; '' finds all. */
  find: (text: string) => readonly Item[];
  /** Called with what is typed, for entries that a server finds. */
  onText?: (text: string) => void;
  keyOf: (item: Item) => string;
  /** Pointed at in the beginning. */
  first?: (item: Item) => boolean;
  onPick: (item: Item) => void;
  row: (item: Item, chosen: boolean) => ReactNode;
  /** Its height fits the place: a dialog has room for more than a control. */
  size: 'dialog' | 'control';
}

/** More are found by typing. */
const shownMax = 100;

/** A field with a list below it: typing finds, the arrows point, Enter or a click picks. */
export function Finder<Item>(props: FinderProps<Item>) {
  const { label, list, placeholder, find, onText, keyOf, first, onPick, row, size } = props;
  const [text, setText] = useState('');
  const found = find(text);
  const shown = found.slice(0, shownMax);
  const [at, setAt] = useState(() => Math.max(0, first === undefined ? 0 : shown.findIndex(first)));
  const chosen = Math.min(at, shown.length - 1);
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const point = (next: number) => {
    setAt(next);
    box.current?.children[next]?.scrollIntoView({ block: 'nearest' });
  };
  // What is chosen already may be far down.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once.
  useEffect(() => point(at), []);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0 && shown.length > 0) point((chosen + step + shown.length) % shown.length);
    else if (event.key === 'Enter' && shown[chosen] !== undefined) onPick(shown[chosen]);
    else return;
    event.preventDefault();
  };
  const large = size === 'dialog';
  return (
    <>
      <input
        role="combobox"
        aria-expanded
        aria-controls={`${id}-list`}
        aria-activedescendant={chosen >= 0 ? `${id}-${chosen}` : undefined}
        aria-label={label}
        placeholder={placeholder}
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          onText?.(event.target.value);
          point(0);
        }}
        onKeyDown={onKeyDown}
        className={classes(
          'w-full border-line border-b bg-transparent text-base outline-none',
          large ? 'h-12 px-4' : 'h-9 px-3 sm:text-sm',
        )}
      />
      {shown.length === 0 && <p className="px-4 py-5 text-center text-muted text-sm">Nothing matches.</p>}
      <div
        ref={box}
        id={`${id}-list`}
        role="listbox"
        aria-label={list}
        className={classes('overflow-y-auto p-1 empty:hidden', large ? 'max-h-[50dvh]' : 'max-h-72')}
      >
        {shown.map((item, place) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys.
          <div
            key={keyOf(item)}
            id={`${id}-${place}`}
            role="option"
            tabIndex={-1}
            aria-selected={place === chosen}
            onClick={() => onPick(item)}
            onMouseMove={() => setAt(place)}
            className={classes(
              'flex cursor-default items-center text-sm aria-selected:bg-hover',
              large
                ? 'h-9 gap-2.5 rounded-md px-3 [&>svg]:size-4 [&>svg]:text-muted'
                : 'min-h-8 gap-2 rounded px-2 py-1',
            )}
          >
            {row(item, place === chosen)}
          </div>
        ))}
      </div>
      {found.length > shown.length && (
        <p className="border-line border-t px-3 py-1.5 text-muted text-xs">
          {found.length - shown.length} more; type to find them.
        </p>
      )}
    </>
  );
}
