import { Check, ChevronsUpDown, Keyboard, LogOut, Monitor, Moon, Sun } from 'lucide-react';
import { type Session, useLogOut } from '../api/session.ts';
import { Menu, MenuItem, MenuLabel, MenuLine } from '../parts/menu.tsx';
import { setTheme, useTheme } from '../parts/theme.ts';

export const themes = [
  { value: 'system', label: 'System', icon: Monitor },
  { value: 'light', label: 'Light', icon: Sun },
  { value: 'dark', label: 'Dark', icon: Moon },
] as const;

/** The logged-in person, and their own settings. */
export function AccountMenu({ session, onShortcuts }: { session: Session; onShortcuts: () => void }) {
  const theme = useTheme();
  const logOut = useLogOut();
  const [name, role] = session.kind === 'key' ? [session.account, session.key.name] : [session.name, session.role];
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          className="flex h-10 w-full items-center gap-2 rounded-md px-2 text-left hover:bg-hover data-[state=open]:bg-hover"
        >
          <span className="min-w-0 flex-1 leading-4">
            <span className="block truncate font-medium text-sm">{name}</span>
            <span className="block truncate text-muted text-xs">{role}</span>
          </span>
          <ChevronsUpDown className="size-4 text-faint" aria-hidden />
        </button>
      }
    >
      <MenuLabel>Culvert {session.version}</MenuLabel>
      <MenuLine />
      {themes.map(({ value, label, icon: Icon }) => (
        <MenuItem key={value} icon={<Icon aria-hidden />} onSelect={() => setTheme(value)}>
          <span className="flex-1">{label}</span>
          {theme === value && <Check className="size-4" aria-label="chosen" />}
        </MenuItem>
      ))}
      <MenuLine />
      <MenuItem icon={<Keyboard aria-hidden />} onSelect={onShortcuts}>
        Keyboard shortcuts
      </MenuItem>
      <MenuItem icon={<LogOut aria-hidden />} onSelect={() => void logOut()}>
        Log out
      </MenuItem>
    </Menu>
  );
}
