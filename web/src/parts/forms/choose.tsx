import { ChevronsUpDown } from 'lucide-react';
import { Popover } from 'radix-ui';
import { type ReactNode, useState } from 'react';
import { classes } from '../classes.ts';
import { Finder } from '../finder.tsx';
import { useControl } from './form.tsx';

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
  /** Called with what is typed, for options that a server finds. */
  onText?: (text: string) => void;
  /** Shown when nothing is chosen. */
  placeholder?: string;
  className?: string;
  disabled?: boolean;
}

/** One of many, found by typing a part of its name. */
export function Choose({
  label,
  value,
  options,
  onValue,
  onText,
  placeholder = 'Choose…',
  className,
  disabled,
}: ChooseProps) {
  const [open, setOpen] = useState(false);
  const chosen = options.find((option) => option.value === value);
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger asChild>
        <button
          type="button"
          id={useControl()?.id}
          disabled={disabled}
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
            label={`Find: ${label}`}
            list={label}
            placeholder="Find…"
            size="control"
            onText={onText}
            find={(text) => nearest(options, text.trim().toLowerCase())}
            keyOf={(option) => option.value}
            first={(option) => option.value === value}
            onPick={(option) => {
              setOpen(false);
              onValue(option.value);
            }}
            row={(option) => (
              <>
                <span
                  className={classes(
                    'min-w-0 flex-1 [overflow-wrap:anywhere]',
                    option.value === value && 'font-medium',
                  )}
                >
                  {option.label}
                </span>
                {option.hint !== undefined && <span className="shrink-0 text-muted text-xs">{option.hint}</span>}
              </>
            )}
          />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

/** Names that begin so, names that hold it, then what other words find. */
function nearest(options: readonly Choice[], typed: string): readonly Choice[] {
  if (typed === '') return options;
  const ranks = options.map((option) => {
    const at = option.label.toLowerCase().indexOf(typed);
    return at === 0 ? 0 : at > 0 ? 1 : option.words?.toLowerCase().includes(typed) ? 2 : 3;
  });
  return [0, 1, 2].flatMap((rank) => options.filter((_, at) => ranks[at] === rank));
}
