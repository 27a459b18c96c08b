import type { ReactNode } from 'react';

/** There is nothing yet: why, and what to do about it. */
export function Empty({
  icon,
  title,
  children,
  action,
}: {
  icon?: ReactNode;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-12 text-center">
      {icon !== undefined && <div className="text-faint [&>svg]:size-6">{icon}</div>}
      <p className="font-medium text-base">{title}</p>
      {children !== undefined && <div className="max-w-prose text-muted text-sm">{children}</div>}
      {action !== undefined && <div className="mt-2 flex gap-2">{action}</div>}
    </div>
  );
}
