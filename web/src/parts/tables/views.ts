import { copyText } from '../copy-text.ts';
import { pagesName } from '../filters.ts';
import { toast } from '../toast.tsx';

/** A named view: the address of a page with its filters, range, order and columns. */
export interface View {
  name: string;
  /** Path and search. */
  address: string;
}

export const viewsName = 'views';
export const viewsMax = 50;

/** Where the page is now, with the columns of a table; without the page of a list, which moves as time goes on. */
export function viewAddress(columns: string | null): string {
  const { pathname, search } = location;
  const params = new URLSearchParams(search);
  params.delete(pagesName);
  if (columns !== null) params.set('columns', columns);
  return params.size === 0 ? pathname : `${pathname}?${params}`;
}

export async function copyLink(address: string): Promise<void> {
  if (await copyText(location.origin + address)) toast('The link is copied.');
}
