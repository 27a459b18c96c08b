import type { Session } from '../api/session.ts';
import { keyPages, type Navigation, operatorPages } from '../pages/pages.ts';

export interface Place extends Navigation {
  to: string;
}

/** Where somebody can go, by group. */
export function placesOf(kind: Session['kind']): { title: string | null; places: Place[] }[] {
  const [base, groups] = kind === 'key' ? ['/account', keyPages] : ['/dashboard', operatorPages];
  return groups.map(({ title, pages }) => ({
    title,
    places: pages.flatMap(({ path, nav }) =>
      nav === undefined ? [] : [{ ...nav, to: path === '' ? base : `${base}/${path}` }],
    ),
  }));
}
