import { Columns3, Download, EllipsisVertical, Link2, Star } from 'lucide-react';
import { Suspense, useState } from 'react';
import { whenReachable } from '../../api/connection.ts';
import { IconButton } from '../button.tsx';
import { saveText } from '../forms/save.ts';
import { lazyPart } from '../lazy-part.ts';
import { Menu, MenuItem, MenuLine } from '../menu.tsx';
import { toast } from '../toast.tsx';
import type { Column, Columns } from './table-columns.ts';
import { slugOf } from './table-columns.ts';
import { copyLink, viewAddress } from './views.ts';

const ColumnsDialog = lazyPart(() => import('./columns-dialog.tsx'));
const ViewsDialog = lazyPart(() => import('./views-dialog.tsx'));

/** Rows that an export reads from a list that has pages. */
export const exportedMax = 10_000;

interface TableMenuProps<Row> {
  label: string;
  columns: Columns<Row>;
  /** All rows that the filters of the table let through. */
  allRows: () => Promise<{ rows: readonly Row[]; more: boolean }>;
}

/** Menu of a table: choose its columns, save it as CSV or as a view. */
export function TableMenu<Row>({ label, columns, allRows }: TableMenuProps<Row>) {
  const [open, setOpen] = useState<'columns' | 'views' | null>(null);
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      const [{ csvOf }, { rows, more }] = await Promise.all([whenReachable(() => import('./table-csv.ts')), allRows()]);
      saveText(csvOf(columns.shown as readonly Column<Row>[], rows), `${slugOf(label)}.csv`, 'text/csv');
      if (more)
        toast(`The file has the first ${exportedMax.toLocaleString('en-US')} rows. Filter the list to get others.`);
    } catch (error) {
      toast((error as Error).message);
    } finally {
      setBusy(false);
    }
  };
  const address = viewAddress(columns.address);
  return (
    <>
      <Menu
        trigger={
          <IconButton label="Table options" size="row" disabled={busy}>
            <EllipsisVertical />
          </IconButton>
        }
      >
        <MenuItem icon={<Columns3 />} onSelect={() => setOpen('columns')}>
          Columns
        </MenuItem>
        <MenuItem icon={<Download />} onSelect={() => void save()}>
          Download as CSV
        </MenuItem>
        <MenuLine />
        <MenuItem icon={<Link2 />} onSelect={() => void copyLink(address)}>
          Copy link to this view
        </MenuItem>
        <MenuItem icon={<Star />} onSelect={() => setOpen('views')}>
          Saved views
        </MenuItem>
      </Menu>
      <Suspense>
        {open === 'columns' && (
          <ColumnsDialog label={label} columns={columns as Columns<unknown>} onClose={() => setOpen(null)} />
        )}
        {open === 'views' && <ViewsDialog address={address} onClose={() => setOpen(null)} />}
      </Suspense>
    </>
  );
}
