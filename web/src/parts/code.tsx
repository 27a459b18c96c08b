import { Check, Copy as CopyIcon } from 'lucide-react';
import { useEffect, useState } from 'react';
import { IconButton, type IconButtonProps } from './button.tsx';
import { classes } from './classes.ts';
import { copyText } from './copy-text.ts';

/** How long the tick is shown. */
const tickMs = 1_500;

interface CopyProps extends Pick<IconButtonProps, 'size' | 'className'> {
  text: string;
  label?: string;
}

export function Copy({ text, label = 'Copy', ...rest }: CopyProps) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), tickMs);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <IconButton label={copied ? 'Copied' : label} {...rest} onClick={() => void copyText(text).then(setCopied)}>
      {copied ? <Check className="text-ok" /> : <CopyIcon />}
    </IconButton>
  );
}

/** Text as a machine reads it, with a button that copies it. */
export function Code({ text, label = 'Code', wrap }: { text: string; label?: string; wrap?: boolean }) {
  return (
    <div className="flex min-w-0 items-start rounded-md border border-line bg-ground">
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
        tabIndex={0}
        className={classes(
          'max-h-[32rem] min-w-0 flex-1 overflow-auto p-3 font-mono text-xs',
          wrap && 'whitespace-pre-wrap [overflow-wrap:anywhere]',
        )}
      >
        {text}
      </pre>
      <Copy text={text} label={`Copy ${label.toLowerCase()}`} className="m-1" />
    </div>
  );
}

/** An id in a line, with a button that copies it. */
export function Id({ text }: { text: string }) {
  return (
    <span className="inline-flex max-w-full items-center gap-0.5 align-bottom">
      <code className="min-w-0 truncate font-mono text-xs">{text}</code>
      <Copy text={text} size="line" />
    </span>
  );
}
