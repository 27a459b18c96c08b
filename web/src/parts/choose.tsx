import { ChevronsUpDown } from 'lucide-react';
import { Popover } from 'radix-ui';
import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react';
import { classes } from './classes.ts';

export interface Choice {
  value: string;
  label: string;
  /** At the right of the label, small. */
  hint?: ReactNode;
  /** Further words that find it. */
  words?: string;
}

interface ChooseProps {
  /** Read aloud. */
  label: string;
  value: string | null;
  options: readonly Choice[];
  onValue: (value: string) => void;
  /** Shown when nothing is chosen. */
  placeholder?: string;
  className?: string;
  id?: string;
  disabled?: boolean;
}

/** More are found by typing. */
const shownMax = 100;

/** One of many, found by typing a part of its name. */
export function Choose({ label, value, options, onValue, placeholder = 'Choose…', className, ...rest }: ChooseProps) {
  const [open, setOpen] = useState(false);
  const chosen = options.find((option) => option.value === value);
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger asChild>
        <button
          type="button"
          {...rest}
          aria-label={`${label}: ${chosen?.label ?? value ?? placeholder}`}
          className={classes(
            'flex h-8 min-w-0 items-center gap-2 rounded-md border border-line-strong bg-panel px-2.5 text-left text-sm hover:bg-hover disabled:opacity-60',
            className,
          )}
        >
          <span className={classes('min-w-0 flex-1 truncate', value === null && 'text-faint')}>
            {chosen?.label ?? value ?? placeholder}
          </span>
          <ChevronsUpDown className="size-3.5 shrink-0 text-faint" aria-hidden />
        </button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="start"
          sideOffset={4}
          collisionPadding={8}
          aria-label={label}
          className="z-50 w-[min(24rem,calc(100vw-1rem))] overflow-hidden rounded-lg border border-line-strong bg-raised"
        >
          <Finder
            label={label}
            value={value}
            options={options}
            onValue={(next) => {
              setOpen(false);
              onValue(next);
            }}
          />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

function Finder({ label, value, options, onValue }: Pick<ChooseProps, 'label' | 'value' | 'options' | 'onValue'>) {
  const [text, setText] = useState('');
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const asked = text.trim().toLowerCase();
  const found = nearest(options, asked);
  const shown = found.slice(0, shownMax);
  const [at, setAt] = useState(() =>
    Math.max(
      0,
      shown.findIndex((option) => option.value === value),
    ),
  );
  const chosen = Math.min(at, shown.length - 1);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0 && shown.length > 0) {
      const next = (chosen + step + shown.length) % shown.length;
      setAt(next);
      list.current?.children[next]?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter' && shown[chosen] !== undefined) onValue(shown[chosen].value);
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
        aria-label={`Find: ${label}`}
        placeholder="Find…"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
        className="h-9 w-full border-line border-b bg-transparent px-3 text-base outline-none sm:text-sm"
      />
      {shown.length === 0 && <p className="px-3 py-4 text-center text-muted text-sm">Nothing matches.</p>}
      <div
        ref={list}
        id={`${id}-list`}
        role="listbox"
        aria-label={label}
        className="max-h-72 overflow-y-auto p-1 empty:hidden"
      >
        {shown.map((option, place) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys.
          <div
            key={option.value}
            id={`${id}-${place}`}
            role="option"
            tabIndex={-1}
            aria-selected={place === chosen}
            onClick={() => onValue(option.value)}
            onMouseMove={() => setAt(place)}
            className="flex min-h-8 cursor-default items-center gap-2 rounded px-2 py-1 text-sm aria-selected:bg-hover"
          >
            <span
              className={classes('min-w-0 flex-1 [overflow-wrap:anywhere]', option.value === value && 'font-medium')}
            >
              {option.label}
            </span>
            {option.hint !== undefined && <span className="shrink-0 text-muted text-xs">{option.hint}</span>}
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

/** Names that begin so, names that hold it, then what other words find. */
function nearest(options: readonly Choice[], asked: string): readonly Choice[] {
  if (asked === '') return options;
  const ranks = options.map((option) => {
    const at = option.label.toLowerCase().indexOf(asked);
    return at === 0 ? 0 : at > 0 ? 1 : option.words?.toLowerCase().includes(asked) ? 2 : 3;
  });
  return [0, 1, 2].flatMap((rank) => options.filter((_, at) => ranks[at] === rank));
}
