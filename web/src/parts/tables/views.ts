import { placeNow, serverUrl } from '../../api/server-path.ts';
import { copyText } from '../copy-text.ts';
import { pagesName } from '../filters.ts';
import { toast } from '../toast.tsx';

/** A named view: the address of a page with its filters, range, order and columns. */
export interface View {
  name: string;
  /** Path below that of the server, and search. */
  address: string;
}

export const viewsName = 'views';
export const viewsMax = 50;

/** Where the page is now, with the columns of a table; without the page of a list, which moves as time goes on. */
export function viewAddress(columns: string | null): string {
  const params = new URLSearchParams(location.search);
  params.delete(pagesName);
  if (columns !== null) params.set('columns', columns);
  return params.size === 0 ? placeNow() : `${placeNow()}?${params}`;
}

export async function copyLink(address: string): Promise<void> {
  if (await copyText(serverUrl + address)) toast('The link is copied.');
}
