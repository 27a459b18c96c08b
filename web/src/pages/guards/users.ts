import type { GuardReply } from '../../../../src/admin/entries/guards.ts';

export interface User {
  text: string;
  /** Its page; null: it has none. */
  to: string | null;
}

/** A key has no page. */
const withPages = ['models', 'plans', 'accounts'];

/** Parts of the configuration that name a guard. */
export function usersOf({ server, ...named }: GuardReply['used_by']): User[] {
  const pageOf = (list: string, name: string) => `/dashboard/${list}/${encodeURIComponent(name)}`;
  return [
    ...(server ? [{ text: 'all requests', to: null }] : []),
    ...Object.entries(named).flatMap(([list, names]) =>
      names.map((name) => ({
        text: `${list.replace(/s$/, '')} ${name}`,
        to: withPages.includes(list) ? pageOf(list, name) : null,
      })),
    ),
  ];
}
