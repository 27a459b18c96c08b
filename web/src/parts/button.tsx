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

/** How buttons look; for links that look like one too. */
export function buttonClass(look: Look = 'plain', extra?: string): string {
  return classes(
    'inline-flex h-8 shrink-0 select-none items-center justify-center gap-1.5 whitespace-nowrap rounded-md px-3 font-medium text-sm',
    'disabled:opacity-50 aria-disabled:opacity-50',
    looks[look],
    extra,
  );
}

interface ButtonProps extends ComponentProps<'button'> {
  look?: Look;
  icon?: ReactNode;
  /** Its action is running: it turns, and takes no second press. */
  busy?: boolean;
}

export function Button({ look, icon, busy, className, children, disabled, type = 'button', ...rest }: ButtonProps) {
  return (
    <button
      type={type}
      disabled={disabled === true || busy === true}
      aria-busy={busy}
      className={buttonClass(look, className)}
      {...rest}
    >
      {busy ? <Loader2 className="size-4 animate-spin" aria-hidden /> : icon}
      {children}
    </button>
  );
}

/** A button that is an icon; its label is read aloud and is its title. */
export function IconButton({ label, className, children, ...rest }: { label: string } & ComponentProps<'button'>) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={classes(
        'inline-flex size-8 shrink-0 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-ink disabled:opacity-40 [&>svg]:size-4',
        className,
      )}
      {...rest}
    >
      {children}
    </button>
  );
}
