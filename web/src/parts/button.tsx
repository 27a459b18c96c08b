import { Loader2 } from 'lucide-react';
import type { ComponentProps, ReactNode } from 'react';
import { classes } from './classes.ts';

type Look = 'plain' | 'main' | 'quiet' | 'danger';

const looks: Record<Look, string> = {
  plain: 'border border-line-strong bg-panel hover:bg-hover',
  main: 'border border-transparent bg-accent text-accent-ink hover:brightness-95',
  quiet: 'border border-transparent text-muted hover:bg-hover hover:text-ink',
  danger: 'border border-line-strong bg-panel text-bad hover:bg-bad-soft',
};

const heights = { usual: 'h-8 px-3', row: 'h-6 px-2' };

/** How buttons look; for links that look like one too. `row`: in a row of a table. */
export function buttonClass(look: Look = 'plain', extra?: string, size: keyof typeof heights = 'usual'): string {
  return classes(
    'inline-flex shrink-0 select-none items-center justify-center gap-1.5 whitespace-nowrap rounded-md font-medium text-sm',
    'disabled:opacity-50 aria-disabled:opacity-50',
    heights[size],
    looks[look],
    extra,
  );
}

interface ButtonProps extends ComponentProps<'button'> {
  look?: Look;
  size?: keyof typeof heights;
  icon?: ReactNode;
  /** Its action is running: it turns, and takes no second press. */
  busy?: boolean;
}

export function Button({
  look,
  size,
  icon,
  busy,
  className,
  children,
  disabled,
  type = 'button',
  ...rest
}: ButtonProps) {
  return (
    <button
      type={type}
      disabled={disabled === true || busy === true}
      aria-busy={busy}
      className={buttonClass(look, className, size)}
      {...rest}
    >
      {busy ? <Loader2 className="size-4 animate-spin" aria-hidden /> : icon}
      {children}
    </button>
  );
}

/** `row`: in a row of a table; `line`: in a line of text, which it makes no higher. */
const sizes = { usual: 'size-8', row: 'size-7', line: '-my-0.5 size-6' };

export interface IconButtonProps extends ComponentProps<'button'> {
  label: string;
  size?: keyof typeof sizes;
}

/** A button that is an icon; its label is read aloud and is its title. */
export function IconButton({ label, size = 'usual', className, children, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={classes(
        'inline-flex shrink-0 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-ink disabled:opacity-40 [&>svg]:size-4',
        sizes[size],
        className,
      )}
      {...rest}
    >
      {children}
    </button>
  );
}
