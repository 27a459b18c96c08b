import { whyNot } from '../api/rights.ts';
import type { Session } from '../api/session.ts';
import { keyPages, type Navigation, operatorPages } from '../pages/pages.ts';

export interface Place extends Navigation {
  to: string;
}

export interface PlaceGroup {
  title: string | null;
  places: Place[];
}

/** Places to go, by group. */
export function placesOf(session: Session): PlaceGroup[] {
  const [base, groups] = session.kind === 'key' ? ['/account', keyPages] : ['/dashboard', operatorPages];
  return groups
    .map(({ title, pages }) => ({
      title,
      places: pages.flatMap(({ path, nav }) => {
        if (nav === undefined || (nav.area !== undefined && whyNot(session, nav.area, 'read') !== null)) return [];
        return [{ ...nav, to: path === '' ? base : `${base}/${path}` }];
      }),
    }))
    .filter(({ places }) => places.length > 0);
}
