import { Check, Keyboard, LogOut } from 'lucide-react';
import { useLogOut } from '../api/session.ts';
import { Menu, MenuItem, MenuLabel, MenuLine } from '../parts/menu.tsx';
import { setTheme, useTheme } from '../parts/theme.ts';
import { AccountButton, type AccountMenuProps } from './account-menu.tsx';
import { themes } from './themes.ts';

/** The menu of the logged-in person, open from the beginning. */
export default function OpenedAccountMenu({ session, onShortcuts }: AccountMenuProps) {
  const theme = useTheme();
  const logOut = useLogOut();
  return (
    <Menu align="start" defaultOpen trigger={<AccountButton session={session} />}>
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
