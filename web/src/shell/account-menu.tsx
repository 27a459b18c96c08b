import { ChevronsUpDown } from 'lucide-react';
import { type ComponentProps, type KeyboardEvent, Suspense, useState } from 'react';
import type { Session } from '../api/session.ts';
import { lazyPart } from '../parts/lazy-part.ts';

/** Read when it is first opened: menus are a tenth of what the first page would have to load. */
const OpenedMenu = lazyPart(() => import('./opened-account-menu.tsx'));

export interface AccountMenuProps {
  session: Session;
  onShortcuts: () => void;
}

/** The logged-in person, and their own settings. */
export function AccountMenu(props: AccountMenuProps) {
  const [wasOpened, setOpened] = useState(false);
  const open = () => setOpened(true);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'ArrowDown') return;
    event.preventDefault();
    open();
  };
  const button = (
    <AccountButton
      session={props.session}
      aria-haspopup="menu"
      aria-expanded={false}
      onClick={open}
      onKeyDown={onKeyDown}
    />
  );
  if (!wasOpened) return button;
  return (
    <Suspense fallback={button}>
      <OpenedMenu {...props} />
    </Suspense>
  );
}

export function AccountButton({ session, ...rest }: { session: Session } & ComponentProps<'button'>) {
  const [name, role] = session.kind === 'key' ? [session.account, session.key.name] : [session.name, session.role];
  return (
    <button
      type="button"
      className="flex h-10 w-full items-center gap-2 rounded-md px-2 text-left hover:bg-hover data-[state=open]:bg-hover"
      {...rest}
    >
      <span className="min-w-0 flex-1 leading-4">
        <span className="block truncate font-medium text-sm">{name}</span>
        <span className="block truncate text-muted text-xs">{role}</span>
      </span>
      <ChevronsUpDown className="size-4 text-faint" aria-hidden />
    </button>
  );
}
