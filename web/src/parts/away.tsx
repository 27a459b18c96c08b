import type { ReactNode } from 'react';

/** A link of strangers: only to addresses that a browser opens without running them. */
export function Away({ href, children }: { href: string; children: ReactNode }) {
  if (!/^(https?:\/\/|mailto:)/i.test(href)) return <span title={href}>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" className="text-accent underline underline-offset-2">
      {children}
    </a>
  );
}
