import { Search } from 'lucide-react';
import { Switch as RadixSwitch } from 'radix-ui';
import { type ComponentProps, type ReactNode, useEffect } from 'react';
import { classes } from './classes.ts';
import { OtherControls, useControl } from './forms/form.tsx';
import { useTyped } from './forms/use-typed.ts';

/** Looks of a control in which one types. */
export const inputClass =
  'min-w-0 rounded-md border border-line-strong bg-panel px-2.5 text-base sm:text-sm placeholder:text-faint aria-invalid:border-bad has-aria-invalid:border-bad has-focus-visible:border-accent disabled:opacity-60';

/** Controls are as wide as their field; `className` may set another width. */
export function Input({ className = 'w-full', ...rest }: ComponentProps<'input'>) {
  return <input className={classes(inputClass, 'h-8', className)} {...useControl()} {...rest} />;
}

/** Picks files of this machine. */
export function FileInput({ className = 'w-full', ...rest }: ComponentProps<'input'>) {
  return (
    <input
      type="file"
      className={classes(
        'min-w-0 text-muted text-sm file:mr-3 file:h-8 file:rounded-md file:border file:border-line-strong file:bg-panel file:px-3 file:font-medium file:text-ink hover:file:bg-hover',
        className,
      )}
      {...useControl()}
      {...rest}
    />
  );
}

export function TextArea({ className = 'w-full', ...rest }: ComponentProps<'textarea'>) {
  return <textarea className={classes(inputClass, 'py-1.5 leading-5', className)} {...useControl()} {...rest} />;
}

export function Select({ className = 'w-full', children, ...rest }: ComponentProps<'select'>) {
  return (
    <select className={classes(inputClass, 'h-8 pr-1.5', className)} {...useControl()} {...rest}>
      {children}
    </select>
  );
}

export function Switch(props: ComponentProps<typeof RadixSwitch.Root>) {
  return (
    <RadixSwitch.Root
      data-changes
      className="inline-flex h-5 w-9 shrink-0 items-center rounded-full border border-line-strong bg-hover p-0.5 data-[state=checked]:border-accent data-[state=checked]:bg-accent"
      {...useControl()}
      {...props}
    >
      <RadixSwitch.Thumb className="size-3.5 rounded-full bg-muted transition-transform data-[state=checked]:translate-x-4 data-[state=checked]:bg-accent-ink" />
    </RadixSwitch.Root>
  );
}

/** How long typing rests before a filter is taken. */
const restMs = 300;

/** A text that filters, taken when typing rests or by Enter. `/` goes to the first of a page. */
export function SearchInput({
  value,
  onValue,
  label,
  className,
}: {
  value: string;
  onValue: (value: string) => void;
  label: string;
  className?: string;
}) {
  const { text, setText, take } = useTyped(value, onValue);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `take` is new with each drawing, which is no typing.
  useEffect(() => {
    const timer = setTimeout(() => take(text), restMs);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div className={classes('relative', className)}>
      <Search
        className="-translate-y-1/2 pointer-events-none absolute top-1/2 left-2.5 size-3.5 text-faint"
        aria-hidden
      />
      <Input
        data-search
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        spellCheck={false}
        className="w-full pl-8"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') take(text);
          if (event.key === 'Escape') event.currentTarget.blur();
        }}
      />
    </div>
  );
}

/** A choice of few, side by side. */
export function Segments<Value extends string>({
  label,
  value,
  options,
  onValue,
}: {
  label: string;
  value: Value;
  options: readonly { value: Value; label: string }[];
  onValue: (value: Value) => void;
}) {
  return (
    <fieldset
      aria-label={label}
      className="inline-flex h-8 shrink-0 items-center rounded-md border border-line-strong bg-panel p-0.5"
    >
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onValue(option.value)}
          className="h-full flex-1 whitespace-nowrap rounded px-2.5 text-muted text-sm hover:text-ink aria-pressed:bg-accent-soft aria-pressed:font-medium aria-pressed:text-ink"
        >
          {option.label}
        </button>
      ))}
    </fieldset>
  );
}

/** Several controls of one Field, each with its label. */
export function FieldGroup({ label, className, children }: { label: string; className: string; children: ReactNode }) {
  const control = useControl();
  return (
    <fieldset
      id={control?.id}
      aria-label={label}
      aria-describedby={control?.['aria-describedby']}
      className={className}
    >
      <OtherControls>{children}</OtherControls>
    </fieldset>
  );
}

interface ChecksProps {
  /** Read aloud. */
  label: string;
  options: readonly string[];
  chosen: readonly string[];
  /** In the order of the options. */
  onChosen: (chosen: string[]) => void;
}

/** Any of several, a box each. */
export function Checks({ label, options, chosen, onChosen }: ChecksProps) {
  return (
    <FieldGroup label={label} className="flex flex-wrap gap-x-4 gap-y-1.5">
      {options.map((option) => (
        <label key={option} className="inline-flex items-center gap-1.5 text-sm">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={chosen.includes(option)}
            onChange={({ target }) =>
              onChosen(options.filter((one) => (one === option ? target.checked : chosen.includes(one))))
            }
          />
          {option}
        </label>
      ))}
    </FieldGroup>
  );
}
