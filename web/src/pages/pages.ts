import { LayoutDashboard, type LucideIcon } from 'lucide-react';
import type { ComponentType } from 'react';

export interface PageEntry {
  /** Below /dashboard, or below /account for a key's pages; '' is the first one. With `$id` for a part that varies. */
  path: string;
  /** A chunk of its own: what a page needs is loaded with it. */
  load: () => Promise<{ default: ComponentType }>;
  /** Of those that stand in the navigation. */
  nav?: Navigation;
}

export interface Navigation {
  title: string;
  icon: LucideIcon;
  /** `g` and this letter go there. */
  key: string;
  /** In the bar at the bottom of a phone, which has room for four. */
  phone?: true;
}

/** What an operator sees, by group, in the order of the navigation. */
export const operatorPages: readonly { title: string | null; pages: readonly PageEntry[] }[] = [
  {
    title: null,
    pages: [
      {
        path: '',
        load: () => import('./overview/page.tsx'),
        nav: { title: 'Overview', icon: LayoutDashboard, key: 'o', phone: true },
      },
    ],
  },
];

/** What somebody sees who is logged in by an API key: the account's own. */
export const keyPages: typeof operatorPages = [];
